import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `porticoctl sessions` and `keys`.
struct CredentialRoutes: Sendable {
    let accounts: AccountAdministration

    private static let named = ObjectShape(
        "Credential", members: [Member("id", .string(maximumLength: 64), isRequired: true)])
    private static let chosen = ObjectShape("Credential", members: [Member("id", .string(maximumLength: 64))])
    private static let rotation = ObjectShape(
        "Rotation", members: [Member("distrustOld", .bool, defaultValue: false)])

    func routes() -> [Route] { sessions() + keys() + signingKeys() }

    private var administration: Administration { accounts.identity.administration }

    private func sessions() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts/{name}/sessions",
                accounts.endpoint("sessions.list", .reads, "An account's sessions.") { request, _ in
                    let sessions = try await administration.sessions(of: accounts.account(request).id)
                    return ["sessions": .array(sessions.map { .dictionary(AccountShapes.value(of: $0)) })]
                }),
            accounts.change("sessions/revoke", "Ends an account's sessions, or the one named.", Self.chosen) {
                id, input, actor in
                guard input["id"] != nil else {
                    _ = try await administration.revokeSessions(of: id, by: actor)
                    return
                }
                guard let session = SessionID(input.text("id")) else {
                    throw PorticoError(.recordNotFound, "There is no such session.", target: "id")
                }
                try await administration.revokeSession(session, of: id, by: actor)
            },
        ]
    }

    private func keys() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts/{name}/keys",
                accounts.endpoint("keys.list", .reads, "An account's API keys.") { request, _ in
                    let keys = try await administration.apiKeys(of: accounts.account(request).id)
                    return ["keys": .array(keys.map { .dictionary(KeyShapes.value($0)) })]
                }),
            Route(
                .post, "/admin/v1/accounts/{name}/keys",
                accounts.endpoint("keys.create", .writes, "Creates an API key.", KeyShapes.creation) {
                    try await create($1, for: $0)
                }),
            accounts.change("keys/revoke", "Revokes an API key.", Self.named) { id, input, actor in
                guard let key = APIKeyID(input.text("id")) else {
                    throw PorticoError(.recordNotFound, "There is no such API key.", target: "id")
                }
                try await administration.revokeAPIKey(key, of: id, by: actor)
            },
        ]
    }

    private func create(_ input: WireDictionary, for request: AuthenticatedRequest) async throws -> WireValue {
        let wanted = try WantedKey(input, now: accounts.services.clock.now())
        let made = try await administration.createAPIKey(
            for: accounts.account(request).id, title: wanted.title, roles: wanted.roles, scope: wanted.scope,
            expires: wanted.expires, by: request.caller.principal)
        return KeyShapes.value(made.key, made.credential)
    }

    private func signingKeys() -> [Route] {
        [
            Route(
                .post, "/admin/v1/signing-keys/rotate",
                accounts.endpoint("keys.rotate", .writes, "Makes the next signing key.", Self.rotation) {
                    request, input in
                    try await administration.rotateSigningKeys(
                        trustingOld: input["distrustOld"]?.boolValue != true, by: request.caller.principal)
                    return accounts.identity.jwks()
                })
        ]
    }
}
