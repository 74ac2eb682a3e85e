import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `POST /auth/login`: name and password, in any wire format or as a form, for tokens and the session cookie. A browser
/// that shows the answer to a person gets a page, and is sent on.
struct LoginEndpoint: Endpoint {
    let accounts: AccountServices

    static let input = ObjectShape(
        "Login",
        members: [
            Member("username", .string(maximumLength: 256), isRequired: true),
            Member("password", .string(maximumLength: 1_024), isRequired: true),
            Member("next", .string, summary: "Of the sign-in page: where it leads."),
            Member("csrf", .string, summary: "Of the sign-in page: that it is ours."),
        ])

    // A read as far as CSRF is concerned: there is no session yet that could be abused.
    let properties = EndpointProperties(name: "auth.login", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Signs in with name and password.", tag: "Sign-in", body: LoginEndpoint.input,
        answers: [(.ok, .value(AccountShapes.signIn)), (.seeOther, .nothing)], errors: LoginEndpoint.errors)

    /// Errors of the systems that an account may be at, too.
    static let errors: Set<ErrorCode> = [.csrfRequired, .upstreamFailed, .upstreamTimeout]

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try accounts.refuseForeignPage(request.request)
        let input = try await accounts.input(request, Self.input)
        guard !request.request.isSentByForm else { return try await page(input, request) }
        try accounts.negotiate(request)
        let signIn = try await accounts.signIn(input.text("username"), input.secret("password"), request)
        var members = AccountServices.tokens(signIn.tokens)
        members["user"] = AccountServices.user(signIn.authentication.principal)
        var response = try accounts.response(.dictionary(members), to: request)
        accounts.setCookie(signIn, on: &response)
        return response
    }

    private func page(_ input: WireDictionary, _ request: AuthenticatedRequest) async throws -> GatewayResponse {
        let form = SignInForm(accounts: accounts)
        let next = LocalPath(input.text("next")) ?? .front
        do {
            guard form.isOurs(request.request, token: input.secret("csrf")) else {
                throw PorticoError(.csrfRequired, "This page was open for too long. Please try again.")
            }
            let signIn = try await accounts.signIn(input.text("username"), input.secret("password"), request)
            var response = GatewayResponse(.seeOther, headers: [.location: next.text, .cacheControl: "no-store"])
            accounts.setCookie(signIn, on: &response)
            return response
        } catch let error as PorticoError {
            return form.page(for: request.request, next: next, username: input.text("username"), failure: error)
        }
    }
}

/// `POST` at `identity.portalLogin`: the form of SAP's portals, for the session cookie.
struct PortalLoginEndpoint: Endpoint {
    let accounts: AccountServices

    static let input = ObjectShape(
        "PortalLogin", isOpen: true,
        members: [
            Member("j_user", .string(maximumLength: 256)), Member("j_username", .string(maximumLength: 256)),
            Member("j_password", .string(maximumLength: 1_024), isRequired: true),
        ])

    let properties = EndpointProperties(name: "auth.portal", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Signs in with a portal's form.", tag: "Sign-in", body: PortalLoginEndpoint.input,
        answers: [(.ok, .value(AccountShapes.user))], errors: LoginEndpoint.errors)

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try accounts.refuseForeignPage(request.request)
        let input = try await accounts.input(request, Self.input)
        guard let name = (input["j_user"] ?? input["j_username"])?.stringValue else {
            throw PorticoError(.requestInvalid, "The user's name is missing.", target: "j_user")
        }
        try accounts.negotiate(request)
        let signIn = try await accounts.signIn(name, input.secret("j_password"), request)
        var response = try accounts.response(AccountServices.user(signIn.authentication.principal), to: request)
        accounts.setCookie(signIn, on: &response)
        return response
    }
}

/// Proof that a sign-in form comes from our page: otherwise a foreign one could sign its visitor in as another account and
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
        let secret = sentToken(by: request) ?? accounts.identity.formSecret()
        let page = SignInPage(
            token: accounts.identity.csrfToken(forSessionCookie: secret), next: next, username: username,
            problem: failure?.message, providers: accounts.identity.browserProviders)
        var response = GatewayResponse(page: page.html, status: failure?.code.status ?? .ok, isPrivate: true)
        response.headers[.setCookie] = cookie.field(secret, maxAge: Self.lifetime)
        if let seconds = failure?.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    func isOurs(_ request: GatewayRequest, token: Secret) -> Bool {
        guard let secret = sentToken(by: request) else { return false }
        return accounts.identity.isValid(csrfToken: token, forSessionCookie: secret)
    }

    private func sentToken(by request: GatewayRequest) -> Secret? {
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
