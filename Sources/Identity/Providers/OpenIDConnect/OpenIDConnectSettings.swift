import AdapterKit

/// An identity provider that speaks OpenID Connect (OpenID Connect Core 1.0).
public struct OpenIDConnectSettings: Sendable {
    /// Signature algorithms that can be allowed. Nothing symmetric: a public key must never be taken for a secret.
    public enum Algorithm: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case ps256 = "PS256"
        case es256 = "ES256"
        case es384 = "ES384"
    }

    public var name: ProviderName
    /// The `iss` of its tokens, letter by letter; its configuration lies below it.
    public var issuer: UpstreamAddress
    public var issuerText: String
    public var clientID: String
    /// Nil for a client that has none and relies on PKCE.
    public var clientSecret: Secret?
    /// This gateway's own address that the browser is sent back to, as registered with the provider.
    public var callback: UpstreamAddress
    public var scopes = ["openid", "profile"]
    public var algorithms: Set<Algorithm> = [.rs256, .es256]
    /// Which claim names the person, for show.
    public var nameClaim = "preferred_username"
    /// Which claim lists the person's groups; dots lead into objects.
    public var groupsClaim = "groups"
    public var roles = RoleMapping()
    /// The `aud` of access tokens for this gateway; nil: apps' tokens are not taken.
    public var audience: String?
    /// The `typ` that an access token must have (RFC 9068, section 2.1).
    public var tokenTypes: Set<String> = ["at+jwt", "application/at+jwt"]
    /// By how many seconds its clock and ours may differ.
    public var clockSkew = 60.0
    /// How long its configuration and keys are believed without being fetched again.
    public var refresh = Duration.seconds(3600)
    /// The least time between two fetches because of an unknown key.
    public var refetch = Duration.seconds(60)

    /// Nil where the issuer is no address.
    public init?(name: ProviderName, issuer: String, clientID: String, callback: UpstreamAddress) {
        guard let address = UpstreamAddress(issuer), !address.target.contains("?") else { return nil }
        self.name = name
        self.issuer = address
        issuerText = issuer
        self.clientID = clientID
        self.callback = callback
    }

    static let maximumToken = 16 << 10
    static let maximumCode = 4096
    /// Usable keys of a provider; further ones are left out.
    static let maximumKeys = 100
    /// The provider's configuration or its keys, in bytes.
    static let maximumDocument = 256 << 10
    /// Values in one of them, about.
    static let maximumValues = 5000
    /// How long a browser may stay at the provider's page.
    static let maximumStay = Duration.seconds(600)
}
