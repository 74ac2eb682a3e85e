import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `POST /auth/login`: name and password, in any wire format or as a form, for tokens and the session cookie.
struct LoginEndpoint: Endpoint {
    let accounts: AccountServices

    static let input = ObjectShape(
        "Login",
        members: [
            Member("username", .string(maximumLength: 256), isRequired: true),
            Member("password", .string(maximumLength: 1_024), isRequired: true),
        ])

    // A read as far as CSRF is concerned: there is no session yet that could be abused.
    let properties = EndpointProperties(name: "auth.login", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Signs in with name and password.", tag: "Sign-in", body: LoginEndpoint.input,
        answers: [(.ok, .value(AccountShapes.signIn))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let input = try await accounts.input(request, Self.input)
        let signIn = try await accounts.identity.signIn(
            input.text("username"), input.secret("password"), from: ClientAddress(request.request.peer),
            replacing: request.caller.sessionCookie)
        var members = AccountServices.tokens(signIn.tokens)
        members["user"] = AccountServices.user(signIn.authentication.principal)
        var response = try accounts.answer(.dictionary(members), to: request)
        accounts.setCookie(signIn, on: &response)
        return response
    }
}

/// `POST /irj/portal`: the form of SAP's portals, for the session cookie.
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
        answers: [(.ok, .value(AccountShapes.user))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let input = try await accounts.input(request, Self.input)
        guard let name = (input["j_user"] ?? input["j_username"])?.stringValue else {
            throw PorticoError(.requestInvalid, "The user's name is missing.", target: "j_user")
        }
        let signIn = try await accounts.identity.signIn(
            name, input.secret("j_password"), from: ClientAddress(request.request.peer),
            replacing: request.caller.sessionCookie)
        var response = try accounts.answer(AccountServices.user(signIn.authentication.principal), to: request)
        accounts.setCookie(signIn, on: &response)
        return response
    }
}
