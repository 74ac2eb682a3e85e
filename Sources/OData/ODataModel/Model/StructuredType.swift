/// An entity type or a complex type (CSDL 4.01, sections 6 and 9).
public struct StructuredType: Sendable, Equatable {
    public let name: QualifiedName
    /// Whether it is an entity type; otherwise a complex type.
    public let isEntity: Bool
    public let baseType: QualifiedName?
    public let isAbstract: Bool
    public let isOpen: Bool
    /// Whether entities of it are media entities.
    public let hasStream: Bool
    /// Empty for complex types, and for abstract entity types that leave it to those derived. The base type's where that
    /// declares it.
    public let key: [KeyProperty]
    /// The base types' first, then its own, each in the order of the document.
    public let properties: [StructuralProperty]
    public let navigation: [NavigationProperty]
    public let annotations: Annotations

    public init(
        name: QualifiedName, isEntity: Bool, baseType: QualifiedName? = nil, isAbstract: Bool = false,
        isOpen: Bool = false, hasStream: Bool = false, key: [KeyProperty] = [],
        properties: [StructuralProperty] = [], navigation: [NavigationProperty] = [],
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.isEntity = isEntity
        self.baseType = baseType
        self.isAbstract = isAbstract
        self.isOpen = isOpen
        self.hasStream = hasStream
        self.key = key
        self.properties = properties
        self.navigation = navigation
        self.annotations = annotations
    }

    public var typeName: TypeName { isEntity ? .entity(name) : .complex(name) }

    public func property(_ name: some StringProtocol) -> StructuralProperty? {
        properties.first { $0.name == name }
    }

    public func navigation(_ name: some StringProtocol) -> NavigationProperty? {
        navigation.first { $0.name == name }
    }

    /// Whether it is one of the key's properties, named without a path.
    public func isKey(_ property: String) -> Bool {
        key.contains { $0.path == [property] }
    }
}

/// A part of an entity's key.
public struct KeyProperty: Sendable, Hashable {
    /// The property's name, or the way to it through complex properties.
    public let path: [String]
    /// The name that stands for the path in key predicates.
    public let alias: String

    public init(path: [String], alias: String? = nil) {
        self.path = path
        self.alias = alias ?? path.last ?? ""
    }
}

/// A property that holds a value (CSDL 4.01, section 7).
public struct StructuralProperty: Sendable, Equatable {
    public let name: String
    public let type: TypeReference
    /// As the document spells it; ``EntityDataModel`` does not interpret it.
    public let defaultValue: String?
    /// The type that declares it.
    public let declaredBy: QualifiedName
    public let annotations: Annotations

    public init(
        _ name: String, _ type: TypeReference, defaultValue: String? = nil, declaredBy: QualifiedName,
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.type = type
        self.defaultValue = defaultValue
        self.declaredBy = declaredBy
        self.annotations = annotations
    }
}

/// A property that leads to other entities (CSDL 4.01, section 8).
public struct NavigationProperty: Sendable, Equatable {
    public let name: String
    public let target: QualifiedName
    public let isCollection: Bool
    public let isNullable: Bool
    /// The navigation property of the target that leads back.
    public let partner: String?
    public let containsTarget: Bool
    public let constraints: [ReferentialConstraint]
    public let onDelete: OnDelete?
    public let declaredBy: QualifiedName
    public let annotations: Annotations

    public init(
        _ name: String, target: QualifiedName, isCollection: Bool, isNullable: Bool = true, partner: String? = nil,
        containsTarget: Bool = false, constraints: [ReferentialConstraint] = [], onDelete: OnDelete? = nil,
        declaredBy: QualifiedName, annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.target = target
        self.isCollection = isCollection
        self.isNullable = isNullable
        self.partner = partner
        self.containsTarget = containsTarget
        self.constraints = constraints
        self.onDelete = onDelete
        self.declaredBy = declaredBy
        self.annotations = annotations
    }

    public var type: TypeReference {
        TypeReference(.entity(target), isCollection: isCollection, isNullable: isNullable)
    }
}

/// `property` of the entity that has the navigation property equals `referenced` of the one that it leads to.
public struct ReferentialConstraint: Sendable, Hashable {
    public let property: String
    public let referenced: String

    public init(property: String, referenced: String) {
        self.property = property
        self.referenced = referenced
    }
}

/// The effect on related entities when the one with the navigation property is deleted.
public enum OnDelete: String, Sendable, Hashable {
    case cascade = "Cascade"
    case none = "None"
    case setNull = "SetNull"
    case setDefault = "SetDefault"
}

/// Names for integers (CSDL 4.01, section 10).
public struct EnumerationType: Sendable, Equatable {
    public struct Member: Sendable, Hashable {
        public let name: String
        public let value: Int64

        public init(_ name: String, _ value: Int64) {
            self.name = name
            self.value = value
        }
    }

    public let name: QualifiedName
    public let underlying: PrimitiveType
    /// Whether a value may be several members at once.
    public let isFlags: Bool
    public let members: [Member]
    public let annotations: Annotations

    public init(
        name: QualifiedName, underlying: PrimitiveType = .int32, isFlags: Bool = false, members: [Member],
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.underlying = underlying
        self.isFlags = isFlags
        self.members = members
        self.annotations = annotations
    }

    /// The numeric value of a text: a member's name, a number, or for flags several of them joined by commas. Nil where a part
    /// is none of these.
    public func value(of text: some StringProtocol) -> Int64? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard isFlags || parts.count == 1 else { return nil }
        var sum: Int64 = 0
        for part in parts {
            let word = part.drop { $0 == " " }
            guard let value = members.first(where: { $0.name == word })?.value ?? Int64(word) else { return nil }
            sum |= value
        }
        return sum
    }

    /// The names of a number, as OData writes them: joined by commas for flags, the number itself where no names make it
    /// up.
    public func text(of value: Int64) -> String {
        if let member = members.first(where: { $0.value == value }) { return member.name }
        guard isFlags else { return String(value) }
        let parts = members.filter { $0.value != 0 && value & $0.value == $0.value }
        guard parts.reduce(0, { $0 | $1.value }) == value else { return String(value) }
        return parts.map(\.name).joined(separator: ",")
    }
}

/// A primitive type with facets of its own (CSDL 4.01, section 11).
public struct TypeDefinition: Sendable, Equatable {
    public let name: QualifiedName
    public let underlying: PrimitiveType
    public let facets: Facets
    public let annotations: Annotations

    public init(
        name: QualifiedName, underlying: PrimitiveType, facets: Facets = Facets(),
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.underlying = underlying
        self.facets = facets
        self.annotations = annotations
    }
}

/// Whatever a schema gives a name to.
public enum SchemaType: Sendable, Equatable {
    case structured(StructuredType)
    case enumeration(EnumerationType)
    case definition(TypeDefinition)
}

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

    /// The parameters that a call names.
    public var callParameters: ArraySlice<Parameter> { isBound ? parameters.dropFirst() : parameters[...] }
}
