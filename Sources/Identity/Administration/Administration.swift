import AdapterKit

/// Administration of accounts, sessions, API keys, signing keys and the audit log.
///
/// The caller of a method has to check that the actor may do it. Every change is recorded with its actor in its own
/// transaction and is effective when the method returns.
public struct Administration: Sendable {
    let context: IdentityContext
    let sessions: SessionDirectory
    let passwords: PasswordChange
    let keys: SigningKeys

    /// The next key signs. Tokens of the ones before are accepted until they end, or, where the old keys are not to be
    /// trusted any more, from now on not at all: apps then refresh.
    public func rotateSigningKeys(trustingOld: Bool = true, by actor: Principal) async throws {
        try await keys.rotate(by: actor, trustingOld: trustingOld)
    }

    /// Reads the whole audit log and returns whether it is as it was written. `anchor` is a head that an earlier
    /// verification gave and that was kept elsewhere.
    public func verifyAudit(anchor: AuditHead? = nil) async throws -> AuditVerdict {
        try await AuditVerification(records: context.records, anchor: anchor).run()
    }

    /// Audit entries, latest first, at most `limit` (and at most ``Query/maximumLimit``), those before number `before`.
    public func auditEntries(
        of selection: AuditSelection = AuditSelection(), before: Int64? = nil, limit: Int = 100
    ) async throws -> [AuditEntry] {
        let earlier = before.map { Filter.compare("id", .less, .string(AuditEntryRecord.id($0).text)) }
        let query = Query(
            .both(earlier, selection.filter), order: [SortKey("id", descending: true)],
            limit: min(limit, Query.maximumLimit))
        return try await context.records.page(query, in: IdentityCollections.auditEntries).records
            .map(AuditEntryRecord.read)
    }
}

extension Administration {
    /// Accounts by name, at most `limit`, those after the folded name `after`.
    public func accounts(after: AccountName? = nil, limit: Int = 100) async throws -> [Account] {
        let later = after.map { Filter.compare("foldedName", .greater, .string($0.folded)) }
        let present = [Account.State.active, .disabled].map { WireValue.string($0.rawValue) }
        let query = Query(
            .both(later, .oneOf("state", present)), order: [SortKey("foldedName")],
            limit: min(limit, Query.maximumLimit))
        return try await context.records.page(query, in: IdentityCollections.accounts).records.map(AccountRecord.read)
    }

    /// Nil for one that was deleted, too.
    public func account(_ id: AccountID) async throws -> Account? {
        try await context.accounts.account(id).flatMap { $0.state == .deleted ? nil : $0 }
    }

    /// Nil for one that was deleted, too.
    public func account(named name: AccountName) async throws -> Account? {
        try await context.accounts.account(named: name).flatMap { $0.state == .deleted ? nil : $0 }
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
            if let known = try await context.accounts.account(named: new.name) {
                throw PorticoError(
                    .recordExists,
                    known.state == .deleted
                        ? "An account of this name was deleted. What others share names it still, so no other gets the name."
                        : "An account of this name exists.", target: "name")
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

    /// Removes everything of the account but its id and its name, with its sign-ins, API keys and links to other systems.
    public func delete(_ id: AccountID, by actor: Principal) async throws {
        defer { context.cache.revoke(id) }
        try await context.writes.write(author: actor.name) {
            let account = try await existing(id)
            let ended = try await sessions.sessions(of: id).map { SessionRecord.deletion($0.id) }
            let keys = try await apiKeys(of: id).map {
                RecordChange(IdentityCollections.apiKeys, .delete($0.id.recordID))
            }
            let links = try await context.records.all(
                .compare("account", .equal, .string(id.text)), in: IdentityCollections.links
            ).map { RecordChange(IdentityCollections.links, .delete($0.id)) }
            return AuditedChange(
                ended + keys + links + [AccountRecord.emptied(account)],
                AuditEvent(.accountDeleted, actor: actor.id, subject: id.text, detail: account.name.text))
        }
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
        guard let account = try await account(id) else {
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

extension Administration {
    /// The account's sign-ins, oldest first. Not those that have ended.
    public func sessions(of id: AccountID) async throws -> [Session] {
        let now = context.clock.now()
        return try await sessions.sessions(of: id).filter { now < $0.ends }
    }

    /// Ends one sign-in. Throws `record.notFound` where the account has none of this id.
    public func revokeSession(_ session: SessionID, of id: AccountID, by actor: Principal) async throws {
        let count = try await sessions.end(of: id, as: .sessionsRevoked, by: actor, detail: session.text) {
            $0.id == session
        }
        guard count == 1 else { throw PorticoError(.recordNotFound, "There is no such session.") }
    }

    /// Ends every sign-in of the account, and what goes on because of one: pushes to devices, sign-ins at the console.
    /// Returns how many there were.
    @discardableResult
    public func revokeSessions(of id: AccountID, by actor: Principal) async throws -> Int {
        try await passwords.change(id, [:], as: .sessionsRevoked, by: actor, detail: "all")
    }
}

extension Administration {
    /// API keys that an account may have.
    public static let apiKeysPerAccount = 100

    /// The keys of an account, oldest first.
    public func apiKeys(of id: AccountID) async throws -> [APIKey] {
        try await context.records.all(
            .compare("account", .equal, .string(id.text)), order: [SortKey("created")],
            in: IdentityCollections.apiKeys
        ).map(APIKeyRecord.read)
    }

    /// A key that acts as the account, with those of its roles that are named (nil: all) and within `scope`. The
    /// credential is given out here and never again.
    public func createAPIKey(
        for id: AccountID, title: String, roles: Set<RoleName>? = nil, scope: CredentialScope = .everything,
        expires: WireDate? = nil, by actor: Principal
    ) async throws -> (key: APIKey, credential: Secret) {
        guard (1...APIKeyRecord.maximumTitle).contains(title.unicodeScalars.count) else {
            throw PorticoError(
                .requestInvalid, "A title has 1 to \(APIKeyRecord.maximumTitle) characters.", target: "title")
        }
        let credential = APIKeyCredential(id: APIKeyID(context.randomness), secret: .random(context.randomness))
        let key = APIKey(
            id: credential.id, account: id, title: title, roles: roles, scope: scope, created: context.clock.now(),
            expires: expires, secret: SecretDigest(of: credential.secret))
        try await context.writes.write(author: actor.name) {
            _ = try await existing(id)
            guard try await apiKeys(of: id).count < Self.apiKeysPerAccount else {
                throw PorticoError(
                    .requestLimitExceeded, "An account has at most \(Self.apiKeysPerAccount) API keys.")
            }
            return AuditedChange(
                [APIKeyRecord.creation(key)],
                AuditEvent(.apiKeyCreated, actor: actor.id, subject: id.text, detail: key.id.text))
        }
        return (key, credential.value)
    }

    /// Throws `record.notFound` where the account has no such key.
    public func revokeAPIKey(_ key: APIKeyID, of id: AccountID, by actor: Principal) async throws {
        defer { context.cache.revoke(id) { $0.apiKey == key } }
        try await context.writes.write(author: actor.name) {
            guard try await apiKeys(of: id).contains(where: { $0.id == key }) else {
                throw PorticoError(.recordNotFound, "There is no such API key.")
            }
            return AuditedChange(
                [RecordChange(IdentityCollections.apiKeys, .delete(key.recordID))],
                AuditEvent(.apiKeyRevoked, actor: actor.id, subject: id.text, detail: key.text))
        }
    }
}

/// Gives an account another password.
struct PasswordChange: Sendable {
    let context: IdentityContext
    let sessions: SessionDirectory

    /// Ends every sign-in of the account but `kept`. Throws `request.invalid` for a password that the policy refuses
    /// and `record.notFound` where there is no such account.
    func set(_ password: Secret, for id: AccountID, by actor: Principal, keeping kept: SessionID?) async throws {
        let account = try await existing(id)
        try PasswordPolicy(context).check(password, for: account.name)
        let share = PasswordShare(address: .unknown, name: account.name.text)
        let hash = try await context.hasher.hash(password, for: share)
        let fields: WireDictionary = ["password": .string(hash.text.reveal())]
        try await change(id, fields, as: .passwordChanged, by: actor, keeping: kept)
    }

    /// Changes what earlier proofs rest on: counts up the account's credential version and ends its sign-ins. Returns how
    /// many there were.
    @discardableResult
    func change(
        _ id: AccountID, _ fields: WireDictionary, as kind: AuditEvent.Kind, by actor: Principal,
        detail: String = "", keeping kept: SessionID? = nil
    ) async throws -> Int {
        // Whatever becomes of the write, what is remembered is read again.
        defer { context.cache.revoke(id) }
        return try await context.writes.write(author: actor.name) {
            let account = try await existing(id)
            var fields = fields
            fields["credentialVersion"] = .int64(account.credentialVersion + 1)
            let ended = try await sessions.sessions(of: id).filter { $0.id != kept }
            return AuditedChange(
                ended.map { SessionRecord.deletion($0.id) } + [AccountRecord.update(account, fields)],
                [AuditEvent(kind, actor: actor.id, subject: id.text, detail: detail)], result: ended.count)
        }
    }

    private func existing(_ id: AccountID) async throws -> Account {
        guard let account = try await context.accounts.account(id) else {
            throw PorticoError(.recordNotFound, "There is no such account.")
        }
        return account
    }
}

extension PasswordPolicy {
    init(_ context: IdentityContext) {
        self.init(minimumLength: context.configuration.passwords.minimumLength)
    }
}
