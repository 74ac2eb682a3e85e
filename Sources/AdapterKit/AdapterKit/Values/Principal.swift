/// The caller of a request.
public struct Principal: Sendable, Hashable {
    /// A kind of caller.
    public enum Kind: Sendable, Hashable {
        /// A caller without credentials.
        case anonymous
        /// A person with an account.
        case user
        /// A program with an API key.
        case program
        /// An operator at the admin socket.
        case `operator`
        /// The host or an adapter, on its own behalf.
        case system
    }

    /// The kind of the caller.
    public let kind: Kind
    /// Stays the same when the account is renamed.
    public let id: String
    /// The account's name, by which records name their owners.
    public let name: String
    /// The name to show to people.
    public let displayName: String
    /// The roles of the account.
    public let roles: Set<RoleName>
    /// Facts about the account that row rules compare with, such as `region`.
    public let attributes: [String: String]

    /// Creates a principal with these values.
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

    /// The host or an adapter itself.
    public static let system = Principal(kind: .system, id: "system", name: "system")

    /// Whether the caller has no credentials.
    public var isAnonymous: Bool { kind == .anonymous }
}

extension Principal {
    /// The name by which a row rule compares a field with ``roleList``. No account's attribute has it.
    public static let roleListAttribute = "portico.roles"

    /// All roles, sorted, with a space between two.
    public var roleList: String { roles.map(\.text).sorted().joined(separator: " ") }

    /// The value that a row rule compares with an attribute; nil: the caller has none of that name.
    public func attribute(_ name: String) -> String? {
        guard name == Self.roleListAttribute else { return attributes[name] }
        return isAnonymous ? nil : roleList
    }
}

/// Whose share of what is scarce a piece of work uses: a signed-in caller by its name, an anonymous one by its network
/// address, an adapter's program for what it does on its own behalf, the gateway itself.
///
/// The gateway binds ``current`` around every request, so that it reaches whatever limits work by caller (the store's
/// long reads, requests that are answered later) through every adapter and plugin. It authorizes nothing.
public struct CallerIdentity: Sendable, Hashable {
    private enum Kind: Hashable {
        case system, account, address, adapter
    }

    private let kind: Kind
    private let name: String

    /// Work of the gateway's own, such as upkeep.
    public static let system = CallerIdentity(kind: .system, name: "")

    /// A signed-in caller, by the account's name.
    public static func account(_ name: String) -> CallerIdentity { CallerIdentity(kind: .account, name: name) }

    /// `network`: an address, or the network that counts as one.
    public static func address(_ network: String) -> CallerIdentity { CallerIdentity(kind: .address, name: network) }

    /// An adapter's program, for what it asks that no caller waits for.
    public static func adapter(_ name: AdapterName) -> CallerIdentity {
        CallerIdentity(kind: .adapter, name: name.text)
    }

    /// The identity of the task at hand, and of the tasks that it starts.
    @TaskLocal public static var current = CallerIdentity.system
}
