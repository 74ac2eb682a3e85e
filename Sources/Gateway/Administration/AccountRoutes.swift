import AdapterKit
import HTTPTypes
import Identity
import NearestNames
import ValueTree

/// `porticoctl accounts` and `roles`.
struct AccountRoutes: Sendable {
    let accounts: AccountAdministration

    private static let creation = ObjectShape(
        "NewAccount",
        members: [
            Member("name", .string(maximumLength: 64), isRequired: true),
            Member("displayName", .string(maximumLength: 200)),
            Member("password", .string(maximumLength: 1_024)), Member("roles", .list(of: .string(maximumLength: 64))),
            newRole,
        ])
    private static let password = ObjectShape(
        "NewPassword", members: [Member("password", .string(maximumLength: 1_024), isRequired: true)])
    private static let roles = ObjectShape(
        "Roles", members: [Member("roles", .list(of: .string(maximumLength: 64)), isRequired: true)])
    private static let granted = ObjectShape(
        "GrantedRoles",
        members: [Member("roles", .list(of: .string(maximumLength: 64)), isRequired: true), newRole])
    private static let newRole = Member(
        "newRole", .bool, defaultValue: false,
        summary: "Takes roles that neither the configuration nor an adapter names yet.")

    func routes() -> [Route] { list() + changes() }

    private func list() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts",
                accounts.endpoint("accounts.list", .read, "The accounts.") { _, _ in try await all() }),
            Route(
                .post, "/admin/v1/accounts",
                accounts.endpoint("accounts.add", .grant, "Adds an account.", Self.creation) {
                    try await add($1, by: $0.caller.principal)
                }),
            Route(
                .get, "/admin/v1/accounts/{name}/deletion",
                accounts.endpoint("accounts.deletion", .read, "What deleting an account would remove.") { request, _ in
                    try await AccountDeletion(accounts: accounts).preview(try await accounts.account(request))
                }),
            Route(
                .post, "/admin/v1/accounts/{name}/delete",
                accounts.endpoint("accounts.delete", .destroy, "Deletes an account.") { request, _ in
                    try await AccountDeletion(accounts: accounts).delete(
                        try await accounts.account(request), by: request.caller.principal)
                }),
            Route(
                .get, "/admin/v1/accounts/{name}",
                accounts.endpoint("accounts.show", .read, "An account and its roles.") { request, _ in
                    Self.value(try await accounts.account(request))
                }),
        ]
    }

    private func changes() -> [Route] {
        [
            accounts.change("disable", "Disables an account and signs it out.", isConfirmed: false) { id, _, actor in
                try await administration.disable(id, by: actor)
            },
            accounts.change("enable", "Enables an account.") { id, _, actor in
                try await administration.enable(id, by: actor)
            },
            accounts.change("password", "Sets a password and signs the account out.", Self.password) {
                id, input, actor in
                try await administration.setPassword(input.secret("password"), of: id, by: actor)
            },
            accounts.change("roles", "Sets an account's roles.", Self.granted) { id, input, actor in
                let held = try await administration.account(id)?.roles ?? []
                try await administration.setRoles(try await checkedRoles(input, held: held), of: id, by: actor)
            },
            accounts.change("roles/grant", "Gives an account roles.", Self.granted) { id, input, actor in
                try await administration.changeRoles(granting: try await checkedRoles(input), of: id, by: actor)
            },
            accounts.change("roles/revoke", "Takes roles from an account.", Self.roles) { id, input, actor in
                try await administration.changeRoles(revoking: try Self.roles(input), of: id, by: actor)
            },
        ]
    }

    private var administration: Administration { accounts.identity.administration }
}

extension AccountRoutes {
    private func all() async throws -> WireValue {
        var accounts: [Account] = []
        while true {
            let page = try await administration.accounts(after: accounts.last?.name, limit: 1_000)
            accounts += page
            if page.count < 1_000 { return ["accounts": .array(accounts.map(Self.value))] }
        }
    }

    private func add(_ input: WireDictionary, by actor: Principal) async throws -> WireValue {
        guard let name = AccountName(input.text("name")) else {
            throw PorticoError(.requestInvalid, "This is no name for an account.", target: "name")
        }
        let password = input["password"]?.stringValue.map { Secret($0) }
        let account = try await administration.addAccount(
            NewAccount(
                name, displayName: input["displayName"]?.stringValue, roles: try await checkedRoles(input),
                password: password),
            by: actor)
        return Self.value(account)
    }

    /// Throws `request.invalid` for a role that is not known yet, unless the input says that it is new.
    private func checkedRoles(_ input: WireDictionary, held: Set<RoleName> = []) async throws -> Set<RoleName> {
        let roles = try Self.roles(input)
        if input["newRole"]?.boolValue != true { try await accounts.roles.check(roles, held: held) }
        return roles
    }

    private static func roles(_ input: WireDictionary) throws -> Set<RoleName> {
        var roles: Set<RoleName> = []
        for value in input["roles"]?.arrayValue ?? [] {
            guard let role = value.stringValue.flatMap({ RoleName($0) }) else {
                throw PorticoError(.requestInvalid, "This is no name for a role.", target: "roles")
            }
            roles.insert(role)
        }
        return roles
    }

    private static func value(_ account: Account) -> WireValue {
        [
            "id": .string(account.id.text), "name": .string(account.name.text),
            "displayName": .string(account.displayName),
            "roles": .array(account.roles.sorted().map { .string($0.text) }),
            "state": .string(account.state.rawValue),
        ]
    }
}

/// The services that the operators' routes about one account share.
struct AccountAdministration: Sendable {
    let identity: Identity
    let services: GatewayServices
    let roles: NamedRoles

    func endpoint(
        _ name: String, _ action: AdministrationAction, _ summary: String, _ input: ObjectShape? = nil,
        isConfirmed: Bool? = nil,
        _ perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) -> AdministrationEndpoint {
        AdministrationEndpoint(
            name, action, summary, input: input, services: services, isConfirmed: isConfirmed, perform: perform)
    }

    /// `POST /admin/v1/accounts/{name}/ACTION`, which answers nothing. `isConfirmed`: false for what only takes away, which
    /// may have to be fast.
    func change(
        _ action: String, _ summary: String, _ input: ObjectShape? = nil, isConfirmed: Bool? = nil,
        _ perform: @escaping @Sendable (AccountID, WireDictionary, Principal) async throws -> Void
    ) -> Route {
        let path = PathTemplate(stringLiteral: "/admin/v1/accounts/{name}/\(action)")
        return Route(
            .post, path,
            endpoint("accounts.\(action)", .grant, summary, input, isConfirmed: isConfirmed) { request, input in
                try await perform(try await account(request).id, input, request.caller.principal)
                return nil
            })
    }

    /// The account that the path names.
    func account(_ request: AuthenticatedRequest) async throws -> Account {
        guard let name = AccountName(request["name"]),
            let account = try await identity.administration.account(named: name)
        else { throw await identity.administration.noAccount(named: request["name"]) }
        return account
    }
}

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
                accounts.endpoint("sessions.list", .read, "An account's sessions.") { request, _ in
                    let sessions = try await administration.sessions(of: accounts.account(request).id)
                    return ["sessions": .array(sessions.map { .dictionary(AccountShapes.value(of: $0)) })]
                }),
            accounts.change(
                "sessions/revoke", "Ends an account's sessions, or the one named.", Self.chosen, isConfirmed: false
            ) { id, input, actor in
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
                accounts.endpoint("keys.list", .read, "An account's API keys.") { request, _ in
                    let keys = try await administration.apiKeys(of: accounts.account(request).id)
                    return ["keys": .array(keys.map { .dictionary(KeyShapes.value($0)) })]
                }),
            Route(
                .post, "/admin/v1/accounts/{name}/keys",
                accounts.endpoint("keys.create", .grant, "Creates an API key.", KeyShapes.creation) {
                    try await create($1, for: $0)
                }),
            accounts.change("keys/revoke", "Revokes an API key.", Self.named, isConfirmed: false) { id, input, actor in
                guard let key = APIKeyID(input.text("id")) else {
                    throw PorticoError(.recordNotFound, "There is no such API key.", target: "id")
                }
                try await administration.revokeAPIKey(key, of: id, by: actor)
            },
        ]
    }

    private func create(_ input: WireDictionary, for request: AuthenticatedRequest) async throws -> WireValue {
        let wanted = try APIKeyRequest(
            input, adapters: accounts.roles.adapters.map(\.declaration.name), now: accounts.services.clock.now())
        let account = try await accounts.account(request)
        try await accounts.roles.check(wanted.roles ?? [], held: account.roles)
        let made = try await administration.createAPIKey(
            for: account.id, title: wanted.title, roles: wanted.roles, scope: wanted.scope,
            expires: wanted.expires, by: request.caller.principal)
        return KeyShapes.value(made.key, made.credential)
    }

    private func signingKeys() -> [Route] {
        [
            Route(
                .post, "/admin/v1/signing-keys/rotate",
                accounts.endpoint("keys.rotate", .grant, "Makes the next signing key.", Self.rotation) {
                    request, input in
                    try await administration.rotateSigningKeys(
                        trustingOld: input["distrustOld"]?.boolValue != true, by: request.caller.principal)
                    return accounts.identity.jwks()
                })
        ]
    }
}

extension Administration {
    /// The error of a name that no account has, with the one that is most like it.
    func noAccount(named name: String) async -> PorticoError {
        let known = (try? await accounts(limit: Query.maximumLimit)) ?? []
        let near = NearestName.sentence(name, among: known.map(\.name.text))
        return PorticoError(.recordNotFound, "There is no account of this name.\(near)")
    }
}
