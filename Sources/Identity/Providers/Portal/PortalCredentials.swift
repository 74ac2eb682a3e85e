import AdapterKit

/// What a portal knows somebody by: the cookies, and the token that goes with them. One value, replaced as a whole, so
/// that a token never meets the cookies of another sign-in.
struct PortalCredentials: Sendable {
    var cookies: CookieJar
    var token: Secret?
    /// Tells one sign-in from the next.
    var generation = 0

    init(cookies: CookieJar) {
        self.cookies = cookies
    }
}
