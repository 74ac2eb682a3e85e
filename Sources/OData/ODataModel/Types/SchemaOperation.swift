/// One overload of a function or an action (CSDL 4.01, section 12).
public struct SchemaOperation: Sendable, Equatable {
    public enum Kind: Sendable, Hashable {
        case function
        case action
    }

    public struct Parameter: Sendable, Equatable {
        public let name: String
        public let type: TypeReference
        /// Whether a call may leave it out (`Core.OptionalParameter`).
        public let isOptional: Bool

        public init(_ name: String, _ type: TypeReference, isOptional: Bool = false) {
            self.name = name
            self.type = type
            self.isOptional = isOptional
        }
    }

    public let name: QualifiedName
    public let kind: Kind
    public let isBound: Bool
    /// Whether more of the path may follow the call of the function.
    public let isComposable: Bool
    /// The binding parameter first, where it is bound.
    public let parameters: [Parameter]
    /// Nil for an action that answers nothing.
    public let result: TypeReference?
    /// Where a bound operation's resulting entities live, from the binding parameter on.
    public let entitySetPath: [String]
    public let annotations: Annotations

    public init(
        name: QualifiedName, kind: Kind, isBound: Bool = false, isComposable: Bool = false,
        parameters: [Parameter] = [], result: TypeReference? = nil, entitySetPath: [String] = [],
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.kind = kind
        self.isBound = isBound
        self.isComposable = isComposable
        self.parameters = parameters
        self.result = result
        self.entitySetPath = entitySetPath
        self.annotations = annotations
    }

    public var bindingParameter: Parameter? { isBound ? parameters.first : nil }

    /// Those that a call names.
    public var callParameters: ArraySlice<Parameter> { isBound ? parameters.dropFirst() : parameters[...] }
}
