import AdapterKit

extension Administration {
    /// Accounts by name, at most `limit`, those after the folded name `after`.
    public func accounts(after: AccountName? = nil, limit: Int = 100) async throws -> [Account] {
        let filter = after.map { Filter.compare("foldedName", .greater, .string($0.folded)) }
        let query = Query(filter, order: [SortKey("foldedName")], limit: min(limit, Query.maximumLimit))
        return try await context.records.page(query, in: IdentityCollections.accounts).records.map(AccountRecord.read)
    }

    public func account(named name: AccountName) async throws -> Account? {
        try await context.accounts.account(named: name)
    }

    /// Throws `record.exists` where the name, in whatever case, is taken, and `request.invalid` for what an account
    /// can't have.
    @discardableResult
    public func addAccount(_ new: NewAccount, by actor: Principal) async throws -> Account {
        try AccountLimits.check(displayName: new.displayName)
        try AccountLimits.check(attributes: new.attributes)
        let hash = try await hash(new.password, for: new.name)
        let id = AccountID(context.randomness)
        let now = context.clock.now()
        try await context.writes.write(author: actor.name) {
            guard try await context.accounts.account(named: new.name) == nil else {
                throw PorticoError(.recordExists, "An account of this name exists.", target: "name")
            }
            return AuditedChange(
                [AccountRecord.creation(new, id: id, password: hash, at: now)],
                AuditEvent(.accountAdded, actor: actor.id, subject: id.text, detail: AccountLimits.text(new.roles)))
        }
        return try await existing(id)
    }

    /// Signs the account out everywhere; its API keys stop too.
    public func disable(_ id: AccountID, by actor: Principal) async throws {
        try await set(.disabled, id, by: actor)
    }

    public func enable(_ id: AccountID, by actor: Principal) async throws {
        try await set(.active, id, by: actor)
    }

    /// Signs the account out everywhere.
    public func setPassword(_ password: Secret, of id: AccountID, by actor: Principal) async throws {
        try await passwords.set(password, for: id, by: actor, keeping: nil)
    }

    /// Counts from the next call on; sessions and tokens go on.
    public func setRoles(_ roles: Set<RoleName>, of id: AccountID, by actor: Principal) async throws {
        try await update(id, ["roles": .names(roles)], detail: "roles " + AccountLimits.text(roles), by: actor)
    }

    /// Adds and takes away roles of what the account has at that moment, so that two operators don't undo each other.
    public func changeRoles(
        granting granted: Set<RoleName> = [], revoking revoked: Set<RoleName> = [], of id: AccountID,
        by actor: Principal
    ) async throws {
        defer { context.cache.revoke(id) }
        try await context.writes.write(author: actor.name) {
            let account = try await existing(id)
            let roles = account.roles.union(granted).subtracting(revoked)
            let detail = "roles " + AccountLimits.text(roles)
            return AuditedChange(
                [AccountRecord.update(account, ["roles": .names(roles)])],
                AuditEvent(.accountChanged, actor: actor.id, subject: id.text, detail: detail))
        }
    }

    public func setAttributes(_ attributes: [String: String], of id: AccountID, by actor: Principal) async throws {
        try AccountLimits.check(attributes: attributes)
        try await update(id, ["attributes": AccountRecord.value(attributes)], detail: "attributes", by: actor)
    }

    public func setDisplayName(_ name: String, of id: AccountID, by actor: Principal) async throws {
        try AccountLimits.check(displayName: name)
        try await update(id, ["displayName": .string(name)], detail: "displayName", by: actor)
    }
}

extension Administration {
    func existing(_ id: AccountID) async throws -> Account {
        guard let account = try await context.accounts.account(id) else {
            throw PorticoError(.recordNotFound, "There is no such account.")
        }
        return account
    }

    private func hash(_ password: Secret?, for name: AccountName) async throws -> PasswordHash? {
        guard let password else { return nil }
        try PasswordPolicy(context).check(password, for: name)
        return try await context.hasher.hash(
            password, for: PasswordShare(address: .unknown, name: name.text))
    }

    private func set(_ state: Account.State, _ id: AccountID, by actor: Principal) async throws {
        try await passwords.change(
            id, ["state": .string(state.rawValue)], as: .accountChanged, by: actor, detail: state.rawValue)
    }

    private func update(_ id: AccountID, _ fields: WireDictionary, detail: String, by actor: Principal) async throws {
        defer { context.cache.revoke(id) }
        try await context.writes.write(author: actor.name) {
            let account = try await existing(id)
            return AuditedChange(
                [AccountRecord.update(account, fields)],
                AuditEvent(.accountChanged, actor: actor.id, subject: id.text, detail: detail))
        }
    }
}
