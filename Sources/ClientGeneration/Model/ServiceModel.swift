/// A service as a client sees it: its business objects and its operations, in the order of their names. What a writer of
/// any language writes down.
public struct ServiceModel: Sendable, Equatable {
    /// The adapter's, such as `notes`.
    public let name: String
    public let types: [ObjectType]
    public let operations: [ServiceOperation]
    /// Operations that take or answer something else than values, which a generated client leaves out.
    public let leftOut: [String]
}

public struct ObjectType: Sendable, Equatable {
    public let name: String
    public let members: [ObjectMember]
}

public struct ObjectMember: Sendable, Equatable {
    /// As it stands in messages.
    public let name: String
    public let type: ValueType
    public let isRequired: Bool
    public let summary: String
}

public indirect enum ValueType: Sendable, Equatable {
    case any
    case bool
    case integer
    case double
    case decimal
    case string
    case choice([String])
    /// RFC 3339 in JSON.
    case date
    /// Base64 in JSON.
    case data
    case list(ValueType)
    /// An ``ObjectType`` by its name.
    case object(String)
}

public struct ServiceOperation: Sendable, Equatable {
    public enum PathPart: Sendable, Equatable {
        case literal(String)
        /// The name of an ``OperationParameter``.
        case parameter(String)
    }

    public let name: String
    public let summary: String
    public let method: String
    public let path: [PathPart]
    public let parameters: [OperationParameter]
    /// The body; nil: none.
    public let input: ValueType?
    /// Nil: the answer has no body.
    public let output: ValueType?
}

public struct OperationParameter: Sendable, Equatable {
    public let name: String
    public let type: ValueType
    public let isRequired: Bool
    public let isInPath: Bool
    public let summary: String
}
