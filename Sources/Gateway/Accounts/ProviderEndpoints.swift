import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `GET /auth/oidc/{provider}/login`: sends a browser to a provider's sign-in page.
struct ProviderLoginEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.oidc.login", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Goes to the sign-in page of an identity provider.", tag: "Sign-in",
        parameters: [
            .path("provider"),
            .query("return", .string(maximumLength: 1_024), "A path of this server to come back to; / without it."),
        ],
        answers: [(.found, .nothing)], errors: ProviderPath.errors)

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let begun = try await accounts.identity.beginSignIn(
            with: try ProviderPath.provider(of: request), returningTo: request.request.target["return"] ?? "/")
        let cookie = accounts.cookie.pendingSignIn
        return GatewayResponse(
            .found,
            headers: [
                .location: begun.location, .setCookie: cookie.field(begun.cookie, maxAge: begun.cookieLifetime),
                .cacheControl: "no-store",
            ])
    }
}

/// `GET /auth/oidc/{provider}/callback`: where that page sends the browser back to.
struct ProviderCallbackEndpoint: Endpoint {
    let accounts: AccountServices

    // A read as far as CSRF is concerned: the pending sign-in's own cookie and state stand against it.
    let properties = EndpointProperties(name: "auth.oidc.callback", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Ends a sign-in at an identity provider.", tag: "Sign-in",
        parameters: [
            .path("provider"), .query("code", .string(maximumLength: 4_096), "The provider's code."),
            .query("state", .string(maximumLength: 256), "What the provider was given."),
            .query("iss", .string(maximumLength: 1_024), "The provider's name."),
            .query("error", .string(maximumLength: 256), "Why there is no code."),
        ],
        answers: [(.seeOther, .nothing)], errors: ProviderPath.errors)

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let pending = accounts.cookie.pendingSignIn
        let cookie = request.request.headers[.cookie].flatMap { CookieField($0).singleCookie(pending.name) }
        let target = request.request.target
        let provider = try ProviderPath.provider(of: request)
        let back = BrowserReturn(
            code: Secret(target["code"] ?? ""), state: Secret(target["state"] ?? ""), issuer: target["iss"])
        let (signIn, path) = try await accounts.signIns.count(.provider) {
            try await accounts.identity.finishSignIn(
                with: provider, back, cookie: Secret(cookie ?? ""),
                from: ClientAddress(request.request.peer), by: ClientAgent(request.request.headers[.userAgent]),
                replacing: accounts.replacedSession(by: request))
        }
        var response = GatewayResponse(.seeOther, headers: [.location: path, .cacheControl: "no-store"])
        accounts.setCookie(signIn, on: &response)
        response.headers.append(HTTPField(name: .setCookie, value: pending.removal))
        return response
    }
}

/// The path of the two endpoints of a provider.
enum ProviderPath {
    static func provider(of request: AuthenticatedRequest) throws(PorticoError) -> ProviderName {
        guard let name = request.parameters["provider"].flatMap({ ProviderName($0) }) else {
            throw PorticoError(.routeNotFound, "There is no such provider.")
        }
        return name
    }

    static let errors: Set<ErrorCode> = [
        .routeNotFound, .requestInvalid, .credentialsInvalid, .upstreamFailed, .upstreamTimeout, .overloaded,
    ]
}
