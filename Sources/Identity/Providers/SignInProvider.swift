import AdapterKit

/// Names a way to sign in, in sessions, audit entries and logs.
public struct ProviderName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { AdapterName.isValid(text) }
}

/// A way to turn a name and a password into an account.
///
/// Every implementation passes `SignInProviderConformance` of the tests. Called from any number of tasks at once, and
/// only after the backoff has let the attempt through.
public protocol SignInProvider: Sendable {
    var name: ProviderName { get }

    /// A refusal says nothing about its reason and takes as long as an acceptance. Throws ``PorticoError`` where no
    /// verdict was possible: `server.overloaded`, `upstream.failed`, `upstream.timeout`, `store.unavailable`.
    func verify(username: String, password: Secret) async throws -> SignInVerdict
}

public enum SignInVerdict: Sendable, Equatable {
    case accepted(ProvenAccount)
    case refused
}

/// An account whose owner has just shown who he or she is.
public struct ProvenAccount: Sendable, Equatable {
    public let id: AccountID
    /// The account's credentials at the time of the proof. Where they have changed since, the proof is void.
    public let credentialVersion: Int64

    public init(id: AccountID, credentialVersion: Int64) {
        self.id = id
        self.credentialVersion = credentialVersion
    }

    init(_ account: Account) {
        self.init(id: account.id, credentialVersion: account.credentialVersion)
    }
}
