import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// `porticoctl accounts`, `sessions` and `audit`.
struct AccountRoutes: Sendable {
    let identity: Identity
    let services: GatewayServices

    private static let creation = ObjectShape(
        "NewAccount",
        members: [
            Member("name", .string(maximumLength: 64), isRequired: true),
            Member("displayName", .string(maximumLength: 200)),
            Member("password", .string(maximumLength: 1_024)), Member("roles", .list(of: .string(maximumLength: 64))),
        ])
    private static let password = ObjectShape(
        "NewPassword", members: [Member("password", .string(maximumLength: 1_024), isRequired: true)])
    private static let roles = ObjectShape(
        "Roles", members: [Member("roles", .list(of: .string(maximumLength: 64)), isRequired: true)])

    func routes() -> [Route] { accounts() + changes() + sessions() }

    private func accounts() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts",
                endpoint("accounts.list", .reads, "The accounts.") { _, _ in try await list() }),
            Route(
                .post, "/admin/v1/accounts",
                endpoint("accounts.add", .writes, "Adds an account.", Self.creation) {
                    try await add($1, by: $0.caller.principal)
                }),
        ]
    }

    private func changes() -> [Route] {
        [
            change("disable", "Disables an account and signs it out.") { id, _, actor in
                try await identity.administration.disable(id, by: actor)
            },
            change("enable", "Enables an account.") { id, _, actor in
                try await identity.administration.enable(id, by: actor)
            },
            change("password", "Sets a password and signs the account out.", Self.password) { id, input, actor in
                try await identity.administration.setPassword(input.secret("password"), of: id, by: actor)
            },
            change("roles", "Sets an account's roles.", Self.roles) { id, input, actor in
                try await identity.administration.setRoles(try Self.roles(input), of: id, by: actor)
            },
        ]
    }

    private func sessions() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts/{name}/sessions",
                endpoint("sessions.list", .reads, "An account's sessions.") {
                    request, _ in
                    let account = try await account(request)
                    let sessions = try await identity.administration.sessions(of: account.id)
                    return ["sessions": .array(sessions.map(Self.value))]
                }),
            change("sessions/revoke", "Ends an account's sessions.") { id, _, actor in
                _ = try await identity.administration.revokeSessions(of: id, by: actor)
            },
            Route(
                .get, "/admin/v1/audit/verification",
                endpoint("audit.verify", .reads, "Checks the audit log.") { _, _ in
                    Self.value(try await identity.administration.verifyAudit())
                }),
        ]
    }
}

extension AccountRoutes {
    private func endpoint(
        _ name: String, _ effect: Effect, _ summary: String, _ input: ObjectShape? = nil,
        _ perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) -> AdministrationEndpoint {
        AdministrationEndpoint(name, effect, summary, input: input, services: services, perform: perform)
    }

    private func change(
        _ action: String, _ summary: String, _ input: ObjectShape? = nil,
        _ perform: @escaping @Sendable (AccountID, WireDictionary, Principal) async throws -> Void
    ) -> Route {
        let path = PathTemplate(stringLiteral: "/admin/v1/accounts/{name}/\(action)")
        return Route(
            .post, path,
            endpoint("accounts.\(action)", .writes, summary, input) { request, input in
                try await perform(try await account(request).id, input, request.caller.principal)
                return nil
            })
    }

    private func account(_ request: AuthenticatedRequest) async throws -> Account {
        guard let name = AccountName(request["name"]),
            let account = try await identity.administration.account(named: name)
        else { throw PorticoError(.recordNotFound, "There is no account of this name.") }
        return account
    }

    private func list() async throws -> WireValue {
        var accounts: [Account] = []
        while true {
            let page = try await identity.administration.accounts(after: accounts.last?.name, limit: 1_000)
            accounts += page
            if page.count < 1_000 { return ["accounts": .array(accounts.map(Self.value))] }
        }
    }

    private func add(_ input: WireDictionary, by actor: Principal) async throws -> WireValue {
        guard let name = AccountName(input.text("name")) else {
            throw PorticoError(.requestInvalid, "This is no name for an account.", target: "name")
        }
        let password = input["password"]?.stringValue.map { Secret($0) }
        let account = try await identity.administration.addAccount(
            NewAccount(
                name, displayName: input["displayName"]?.stringValue, roles: try Self.roles(input), password: password),
            by: actor)
        return Self.value(account)
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

    private static func value(_ session: Session) -> WireValue {
        [
            "id": .string(session.id.text), "created": .date(session.created.wholeSeconds),
            "lastUsed": .date(session.lastUsed.wholeSeconds), "expires": .date(session.expires.wholeSeconds),
            "address": .string(session.address),
        ]
    }
}

extension AccountRoutes {
    private static func value(_ verdict: AuditVerdict) -> WireValue {
        switch verdict {
        case .intact(let head): ["intact": true, "entries": .int64(head.count)]
        case .broken(let number, let fault):
            ["intact": false, "entry": .int64(number), "fault": .string(fault.rawValue)]
        }
    }
}
