import AdapterKit

/// Names a way to sign in, in sessions, audit entries and logs.
public struct ProviderName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { AdapterName.isValid(text) }
}

/// Evidence of an identity. Each kind is for the providers that know it; the others refuse it.
public enum SignInEvidence: Sendable {
    /// From where, and the priority, decide only about whose turn it is.
    case password(
        username: String, Secret, from: ClientAddress = .unknown, priority: PasswordPriority = .normal)
    /// The code that a browser brought back from a provider's own sign-in page, with what was kept for that moment.
    case authorizationCode(Secret, verifier: Secret, nonce: Secret)
    /// A token that a provider issued to an app.
    case bearer(Secret)
}

/// A way to turn evidence into an account.
///
/// Every implementation passes `SignInProviderConformance` of the tests. Called from any number of tasks at once; with a
/// password only after the backoff has let the attempt through.
public protocol SignInProvider: Sendable {
    var name: ProviderName { get }

    /// A refusal says nothing about its reason and takes as long as an acceptance. Throws ``PorticoError`` where no
    /// verdict was possible: `server.overloaded`, `upstream.failed`, `upstream.timeout`, `store.unavailable`.
    func verify(_ evidence: SignInEvidence) async throws -> SignInVerdict
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
    /// When the evidence itself ends; nil: never.
    public let evidenceEnds: WireDate?

    public init(id: AccountID, credentialVersion: Int64, evidenceEnds: WireDate? = nil) {
        self.id = id
        self.credentialVersion = credentialVersion
        self.evidenceEnds = evidenceEnds
    }

    init(_ account: Account, evidenceEnds: WireDate? = nil) {
        self.init(id: account.id, credentialVersion: account.credentialVersion, evidenceEnds: evidenceEnds)
    }
}
