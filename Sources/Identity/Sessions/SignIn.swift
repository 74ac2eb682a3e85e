import AdapterKit

/// What a successful sign-in gives. Each secret is shown once and kept nowhere.
public struct SignIn: Sendable {
    public let authentication: Authentication
    /// The value of the session cookie: letters, digits, `-`, `_` and `.`.
    public let cookie: Secret
    /// When the cookie ends at the latest.
    public let cookieExpires: WireDate
    public let tokens: TokenPair
}

/// An access token and the refresh token that gives the next one.
public struct TokenPair: Sendable {
    public let accessToken: Secret
    public let refreshToken: Secret
    /// Seconds until the access token ends.
    public let expiresIn: Int
}
