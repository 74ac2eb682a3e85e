import AdapterKit

/// The account of a person or a program. The hash of its password is not part of it.
public struct Account: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable {
        case active
        /// Signs in nowhere; keeps its name and its records.
        case disabled
        /// Gone but for its name and its id, which rows and the audit log may have. No other account gets the name.
        case deleted
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

    /// The account as the principal of calls in its name.
    package func principal(_ kind: Principal.Kind = .user, roles limited: Set<RoleName>? = nil) -> Principal {
        Principal(
            kind: kind, id: id.text, name: name.text, displayName: displayName,
            roles: limited.map(roles.intersection) ?? roles, attributes: attributes)
    }
}

/// The attributes of an account that is to be made.
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

/// Limits of an account's display name and attributes.
enum AccountLimits {
    static let attributes = 50
    static let attributeName = 64
    static let attributeValue = 1024

    static func check(displayName: String) throws {
        guard (1...AccountRecord.maximumDisplayName).contains(displayName.unicodeScalars.count) else {
            throw PorticoError(
                .requestInvalid, "A display name has 1 to \(AccountRecord.maximumDisplayName) characters.",
                target: "displayName")
        }
    }

    static func check(attributes: [String: String]) throws {
        let isSmall =
            attributes.count <= self.attributes
            && attributes.allSatisfy {
                (1...attributeName).contains($0.key.unicodeScalars.count)
                    && $0.value.unicodeScalars.count <= attributeValue
            }
        guard isSmall else {
            throw PorticoError(
                .requestInvalid,
                "An account has at most \(self.attributes) attributes, names of \(attributeName) and values of "
                    + "\(attributeValue) characters.", target: "attributes")
        }
    }

    /// For the audit log, which keeps at most 1024 characters.
    static func text(_ roles: Set<RoleName>) -> String {
        String(roles.sorted().map(\.text).joined(separator: ",").prefix(1000))
    }
}
