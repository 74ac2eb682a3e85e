import AdapterKit
import HTTPTypes
import Identity

/// Cross-site request forgery: a write that is authenticated by the cookie alone must show that a page of ours sent it.
///
/// Any of these shows it: a CSRF token of this session (fetched by `X-CSRF-Token: Fetch`, as SAP's gateways have it),
/// the header field `X-Requested-With`, which no foreign page can send without our permission (CORS), or a browser's
/// own word that the request is same-origin (`Sec-Fetch-Site`).
///
/// Where a contract says so (``HTTPMount/requiresToken``), writes with any other credential need it too: browsers keep
/// passwords of Basic as they keep cookies, and SAP's clients fetch the token whatever they sign in with. An anonymous
/// caller has no rights that could be abused.
///
/// At the operators' console nothing but the token shows it, and what cannot be undone or gives rights needs a confirmation
/// too, which the password has just given.
struct CSRFProtection: Sendable {
    let identity: Identity?
    var console: ConsoleAuthentication?

    func check(
        _ request: GatewayRequest, caller: Caller, at endpoint: EndpointProperties, effect: Effect
    ) throws(PorticoError) {
        guard effect == .writes, let identity, let tokenBinding = tokenBinding(of: caller, at: endpoint) else { return }
        if let console, let cookie = caller.sessionCookie {
            return try check(request, console, identity, cookie, at: endpoint)
        }
        if request.headers.text(.secFetchSite) == "same-origin" || request.headers.text(.xRequestedWith) != nil {
            return
        }
        if let token = request.headers[.xCSRFToken], identity.isValid(csrfToken: Secret(token), for: tokenBinding) {
            return
        }
        throw PorticoError(.csrfRequired, "This needs the CSRF token of the session.")
    }

    private func check(
        _ request: GatewayRequest, _ console: ConsoleAuthentication, _ identity: Identity, _ cookie: Secret,
        at endpoint: EndpointProperties
    ) throws(PorticoError) {
        guard let token = request.headers[.xCSRFToken],
            identity.isValid(csrfToken: Secret(token), for: .session(cookie))
        else { throw PorticoError(.csrfRequired, "This needs the CSRF token of the session.") }
        guard endpoint.isConfirmed else { return }
        let now = console.clock.now()
        guard let confirmation = request.headers[.xPorticoConfirmation],
            console.state.withTable({ $0.useConfirmation(Secret(confirmation), of: cookie, at: now) })
        else { throw PorticoError(.confirmationRequired, "This asks for the password again.") }
    }

    /// Answers `X-CSRF-Token: Fetch`, and says what is missing where a token was.
    func addFields(
        to response: inout GatewayResponse, for request: GatewayRequest, caller: Caller,
        at endpoint: EndpointProperties,
        error: PorticoError?
    ) {
        if error?.code == .csrfRequired { response.headers[.xCSRFToken] = "Required" }
        guard request.headers.text(.xCSRFToken)?.lowercased() == "fetch", let identity,
            let tokenBinding = tokenBinding(of: caller, at: endpoint)
        else { return }
        response.headers[.xCSRFToken] = identity.csrfToken(for: tokenBinding).reveal()
    }

    /// What the caller's tokens are bound to; nil where none are needed.
    private func tokenBinding(of caller: Caller, at endpoint: EndpointProperties) -> CSRFTokenBinding? {
        if let cookie = caller.sessionCookie { return .session(cookie) }
        guard endpoint.requiresToken, let authentication = caller.authentication else { return nil }
        return .principal(authentication.principal)
    }
}

extension HTTPField.Name {
    static let xCSRFToken = HTTPField.Name("X-CSRF-Token")!
    static let xRequestedWith = HTTPField.Name("X-Requested-With")!
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}

/// Cross-origin requests from browsers (the Fetch standard's CORS protocol), from an explicit list of origins.
///
/// An origin that is not on the list gets no header at all, so the browser refuses; nothing is ever reflected.
struct CrossOrigin: Sendable {
    /// `http.cors.origins`, such as `https://app.example.com`.
    let origins: Set<String>
    /// `http.corsMaxAge`, in seconds.
    let maxAge: Int

    private static let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
    private static let requestFields = """
        Accept, Authorization, Content-Range, Content-Type, If-Match, If-None-Match, Last-Event-ID, X-CSRF-Token, \
        X-Requested-With
        """
    private static let responseFields = "Age, Cache-Status, ETag, Location, Retry-After, X-CSRF-Token, X-Request-ID"

    func addFields(to response: inout GatewayResponse, for request: GatewayRequest) {
        guard !origins.isEmpty else { return }
        response.headers[.vary] = response.headers[.vary].map { "\($0), Origin" } ?? "Origin"
        guard let origin = request.headers[.origin], origins.contains(origin) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] = Self.responseFields
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil else { return }
        response.headers[.accessControlAllowMethods] = Self.methods
        response.headers[.accessControlAllowHeaders] = Self.requestFields
        response.headers[.accessControlMaxAge] = String(maxAge)
    }
}
