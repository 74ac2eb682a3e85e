import AdapterKit
import HTTPTypes
import Identity

/// Proof that a sign-in form comes from our page: otherwise a foreign one could sign its visitor in as somebody else and
/// read what they then write. There is no session yet to bind it to, so a cookie of its own takes that place.
struct SignInForm: Sendable {
    let accounts: AccountServices

    private static let cookieLength = 43
    /// Seconds that a page may stay open before it is sent.
    private static let lifetime = 86_400

    private var cookie: SessionCookieSettings { accounts.cookie.beforeSignIn }

    func page(
        for request: GatewayRequest, next: LocalPath, username: String = "", failure: PorticoError? = nil
    ) -> GatewayResponse {
        let secret = sent(by: request) ?? accounts.identity.formSecret()
        let page = SignInPage(
            token: accounts.identity.csrfToken(forSessionCookie: secret), next: next, username: username,
            problem: failure?.message, providers: accounts.identity.browserProviders)
        var response = GatewayResponse(page: page.html, status: failure?.code.status ?? .ok, isPrivate: true)
        response.headers[.setCookie] = cookie.field(secret, maxAge: Self.lifetime)
        if let seconds = failure?.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    func isOurs(_ request: GatewayRequest, token: Secret) -> Bool {
        guard let secret = sent(by: request) else { return false }
        return accounts.identity.isValid(csrfToken: token, forSessionCookie: secret)
    }

    private func sent(by request: GatewayRequest) -> Secret? {
        guard let value = request.headers[.cookie].flatMap({ CookieField($0)[cookie.name] }),
            value.utf8.count == Self.cookieLength
        else { return nil }
        return Secret(value)
    }
}

/// `GET /auth/login`: the sign-in page, `next` being where it leads.
struct SignInPageEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.page", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "The page on which people sign in.", tag: "Sign-in",
        parameters: [.query("next", .string, "A path of this server, to go on to.")],
        answers: [(.ok, .document(mediaType: "text/html"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let next = request.request.target["next"].flatMap { LocalPath($0) } ?? .front
        if request.caller.sessionCookie != nil {
            let page = SignedInPage(name: request.caller.principal.displayName, next: next)
            return GatewayResponse(page: page.html, isPrivate: true)
        }
        return SignInForm(accounts: accounts).page(for: request.request, next: next)
    }
}
