/// Who is asking.
public struct Principal: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case anonymous
        case user
        /// A program with an API key.
        case program
        /// Somebody at the admin socket.
        case `operator`
        /// The host or an adapter, on its own behalf.
        case system
    }

    public let kind: Kind
    /// Stays the same when the account is renamed.
    public let id: String
    /// The account's name, by which records name their owners.
    public let name: String
    public let displayName: String
    public let roles: Set<RoleName>
    /// Facts about the account that row rules compare with, such as `region`.
    public let attributes: [String: String]

    public init(
        kind: Kind, id: String, name: String, displayName: String? = nil, roles: Set<RoleName> = [],
        attributes: [String: String] = [:]
    ) {
        self.kind = kind
        self.id = id
        self.name = name
        self.displayName = displayName ?? name
        self.roles = roles
        self.attributes = attributes
    }

    /// No account can have an empty name, so a row rule never matches it.
    public static let anonymous = Principal(kind: .anonymous, id: "", name: "")

    public static let system = Principal(kind: .system, id: "system", name: "system")

    public var isAnonymous: Bool { kind == .anonymous }
}
