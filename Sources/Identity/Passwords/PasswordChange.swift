import AdapterKit

/// Gives an account another password.
struct PasswordChange: Sendable {
    let context: IdentityContext
    let sessions: Sessions

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

    /// Changes what earlier proofs rest on: counts up the account's credential version and ends its sign-ins.
    func change(
        _ id: AccountID, _ fields: WireDictionary, as kind: AuditEvent.Kind, by actor: Principal,
        detail: String = "", keeping kept: SessionID? = nil
    ) async throws {
        // Whatever becomes of the write, what is remembered is read again.
        defer { context.cache.revoke(id) }
        try await context.writes.write(author: actor.name) {
            let account = try await existing(id)
            var fields = fields
            fields["credentialVersion"] = .int64(account.credentialVersion + 1)
            let ended = try await sessions.sessions(of: id).filter { $0.id != kept }
            return AuditedChange(
                ended.map { SessionRecord.deletion($0.id) } + [AccountRecord.update(account, fields)],
                AuditEvent(kind, actor: actor.id, subject: id.text, detail: detail))
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
