import AdapterKit

/// A credential that was verified: who it speaks for, and how far.
public struct Authentication: Sendable, Hashable {
    public enum Method: String, Sendable, CaseIterable {
        /// The only one that a browser sends by itself: writes need a CSRF token (``CSRFToken``).
        case sessionCookie
        case accessToken
        case basic
        case apiKey
    }

    public let principal: Principal
    public let method: Method
    public let account: AccountID
    /// The sign-in that it belongs to; nil for Basic and API keys.
    public let session: SessionID?
    public let apiKey: APIKeyID?
    public let scope: CredentialScope
    /// When the credential ends by itself; nil: never.
    public let expires: WireDate?
    /// Of the account when this was verified.
    let credentialVersion: Int64

    package init(
        _ account: Account, _ principal: Principal, method: Method, session: SessionID? = nil,
        apiKey: APIKeyID? = nil, scope: CredentialScope = .everything, expires: WireDate?
    ) {
        self.principal = principal
        self.method = method
        self.account = account.id
        credentialVersion = account.credentialVersion
        self.session = session
        self.apiKey = apiKey
        self.scope = scope
        self.expires = expires
    }
}

/// How far a credential reaches, within what its account may do.
public struct CredentialScope: Sendable, Hashable {
    /// Nil: every adapter.
    public let adapters: Set<AdapterName>?
    public let mayWrite: Bool

    public init(adapters: Set<AdapterName>? = nil, mayWrite: Bool = true) {
        self.adapters = adapters
        self.mayWrite = mayWrite
    }

    public static let everything = CredentialScope()

    public func allows(_ effect: Effect, in adapter: AdapterName) -> Bool {
        (effect == .reads || mayWrite) && adapters?.contains(adapter) ?? true
    }
}
