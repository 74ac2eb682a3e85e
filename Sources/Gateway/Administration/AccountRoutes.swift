import AdapterKit
import HTTPTypes
import Identity
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
        ])
    private static let password = ObjectShape(
        "NewPassword", members: [Member("password", .string(maximumLength: 1_024), isRequired: true)])
    private static let roles = ObjectShape(
        "Roles", members: [Member("roles", .list(of: .string(maximumLength: 64)), isRequired: true)])

    func routes() -> [Route] { list() + changes() }

    private func list() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts",
                accounts.endpoint("accounts.list", .reads, "The accounts.") { _, _ in try await all() }),
            Route(
                .post, "/admin/v1/accounts",
                accounts.endpoint("accounts.add", .writes, "Adds an account.", Self.creation) {
                    try await add($1, by: $0.caller.principal)
                }),
        ]
    }

    private func changes() -> [Route] {
        [
            accounts.change("disable", "Disables an account and signs it out.") { id, _, actor in
                try await administration.disable(id, by: actor)
            },
            accounts.change("enable", "Enables an account.") { id, _, actor in
                try await administration.enable(id, by: actor)
            },
            accounts.change("password", "Sets a password and signs the account out.", Self.password) {
                id, input, actor in
                try await administration.setPassword(input.secret("password"), of: id, by: actor)
            },
            accounts.change("roles", "Sets an account's roles.", Self.roles) { id, input, actor in
                try await administration.setRoles(try Self.roles(input), of: id, by: actor)
            },
            accounts.change("roles/grant", "Gives an account roles.", Self.roles) { id, input, actor in
                try await administration.changeRoles(granting: try Self.roles(input), of: id, by: actor)
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
}
