import AdapterKit

/// One sign-in: the cookie it gave, and the family of refresh tokens that began with it.
///
/// Both end together by sign-out and revocation, and each by its own lifetime.
public struct Session: Sendable, Equatable {
    public let id: SessionID
    public let account: AccountID
    public let created: WireDate
    public let lastUsed: WireDate
    /// Where the sign-in came from.
    public let address: String
    public let provider: ProviderName
    /// When the cookie ends.
    public let expires: WireDate
    /// When the refresh token that is valid now ends.
    public let refreshExpires: WireDate
    let cookie: SecretDigest
    let family: SecretDigest
    let refresh: SecretDigest
    let revision: Revision

    /// When nothing of it is valid any more.
    var ends: WireDate { max(expires, refreshExpires) }
}
