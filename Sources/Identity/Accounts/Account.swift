import AdapterKit

/// Somebody, or some program, that may sign in. The password's hash is not part of what is shown.
public struct Account: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable {
        case active
        /// Signs in nowhere; keeps its name and its records.
        case disabled
    }

    public let id: AccountID
    public let name: AccountName
    public let displayName: String
    public let roles: Set<RoleName>
    /// Facts that row rules compare with.
    public let attributes: [String: String]
    public let state: State
    public let created: WireDate
    public let lastSignIn: WireDate?
    /// Nil where no password signs this account in.
    let password: PasswordHash?
    /// Counts every change after which earlier proofs of who it is are void: password and state.
    let credentialVersion: Int64
    let revision: Revision

    package init(
        id: AccountID, name: AccountName, displayName: String, roles: Set<RoleName>, attributes: [String: String],
        state: State, created: WireDate, lastSignIn: WireDate?, password: PasswordHash?, credentialVersion: Int64,
        revision: Revision
    ) {
        self.id = id
        self.name = name
        self.displayName = displayName
        self.roles = roles
        self.attributes = attributes
        self.state = state
        self.created = created
        self.lastSignIn = lastSignIn
        self.password = password
        self.credentialVersion = credentialVersion
        self.revision = revision
    }

    /// The account as whoever asks in its name.
    package func principal(_ kind: Principal.Kind = .user, roles limited: Set<RoleName>? = nil) -> Principal {
        Principal(
            kind: kind, id: id.text, name: name.text, displayName: displayName,
            roles: limited.map(roles.intersection) ?? roles, attributes: attributes)
    }
}

/// What an account begins with.
public struct NewAccount: Sendable, Equatable {
    public let name: AccountName
    public let displayName: String
    public let roles: Set<RoleName>
    public let attributes: [String: String]
    /// Nil for an account of programs, which API keys alone open.
    public let password: Secret?

    public init(
        _ name: AccountName, displayName: String? = nil, roles: Set<RoleName> = [], attributes: [String: String] = [:],
        password: Secret?
    ) {
        self.name = name
        self.displayName = displayName ?? name.text
        self.roles = roles
        self.attributes = attributes
        self.password = password
    }
}
