import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `GET /auth/sessions`: where one is signed in.
struct SessionListEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.sessions", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "The caller's own sign-ins, oldest first.", tag: "Sign-in",
        answers: [(.ok, .value(AccountShapes.sessions))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        let sessions = try await accounts.identity.administration.sessions(of: authentication.account)
        let items = sessions.map { session in
            var value = AccountShapes.value(of: session)
            value["current"] = .bool(session.id == authentication.session)
            return WireValue.dictionary(value)
        }
        return try accounts.answer(["sessions": .array(items)], to: request)
    }
}

/// `DELETE /auth/sessions/{id}`: signs out elsewhere.
struct SessionEndEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.sessions.end", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Ends one of the caller's own sign-ins.", tag: "Sign-in", answers: [(.noContent, .nothing)],
        errors: [.recordNotFound])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        guard let id = SessionID(request["id"]) else {
            throw PorticoError(.recordNotFound, "There is no such session.")
        }
        try await accounts.identity.administration.revokeSession(
            id, of: authentication.account, by: authentication.principal)
        return GatewayResponse(.noContent)
    }
}
