import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `GET /auth/keys`: the API keys of the caller's account, without their secrets.
struct KeyListEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.keys", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "The caller's own API keys, oldest first.", tag: "Sign-in",
        answers: [(.ok, .value(KeyShapes.list))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let keys = try await accounts.identity.administration.apiKeys(of: request.caller.person().account)
        return try accounts.answer(["keys": .array(keys.map { .dictionary(KeyShapes.value($0)) })], to: request)
    }
}

/// `POST /auth/keys`: a new API key, the text of which is shown this once.
struct KeyCreationEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.keys.create", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Creates an API key for a program; its text is shown this once.", tag: "Sign-in",
        body: KeyShapes.creation, answers: [(.created, .value(KeyShapes.created))], errors: [.requestLimitExceeded])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        let wanted = try WantedKey(try await accounts.input(request, KeyShapes.creation), now: accounts.clock.now())
        let made = try await accounts.identity.administration.createAPIKey(
            for: authentication.account, title: wanted.title, roles: wanted.roles, scope: wanted.scope,
            expires: wanted.expires, by: authentication.principal)
        return try accounts.answer(KeyShapes.value(made.key, made.credential), to: request, status: .created)
    }
}

/// `DELETE /auth/keys/{id}`
struct KeyRevocationEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.keys.revoke", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Revokes one of the caller's own API keys.", tag: "Sign-in", answers: [(.noContent, .nothing)],
        errors: [.recordNotFound])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        guard let id = APIKeyID(request["id"]) else {
            throw PorticoError(.recordNotFound, "There is no such API key.")
        }
        try await accounts.identity.administration.revokeAPIKey(
            id, of: authentication.account, by: authentication.principal)
        return GatewayResponse(.noContent)
    }
}
