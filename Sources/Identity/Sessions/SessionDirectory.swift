import AdapterKit

/// Finds and ends sessions.
struct SessionDirectory: Sendable {
    let context: IdentityContext

    func session(_ id: SessionID) async throws -> Session? {
        try await context.records.record(id.recordID, in: IdentityCollections.sessions).map(SessionRecord.read)
    }

    /// Oldest first.
    func sessions(of account: AccountID) async throws -> [Session] {
        try await context.records.all(
            .compare("account", .equal, .string(account.text)), order: [SortKey("created")],
            in: IdentityCollections.sessions
        ).map(SessionRecord.read)
    }

    /// Ends those sessions of the account for which `matches` holds; their cookies and tokens are void when this
    /// returns. Tells how many there were; where there were none nothing is recorded.
    @discardableResult
    func end(
        of account: AccountID, as kind: AuditEvent.Kind, by actor: Principal, detail: String = "",
        where matches: @escaping @Sendable (Session) -> Bool = { _ in true }
    ) async throws -> Int {
        let ended = try await context.writes.write(author: actor.name) {
            let ended = try await sessions(of: account).filter(matches).map(\.id)
            let event = AuditEvent(kind, actor: actor.id, subject: account.text, detail: detail)
            return AuditedChange(ended.map(SessionRecord.deletion), ended.isEmpty ? [] : [event], result: ended)
        }
        revoke(ended, of: account)
        return ended.count
    }

    /// Forgets what was verified for sessions that are gone.
    func revoke(_ ended: [SessionID], of account: AccountID) {
        guard !ended.isEmpty else { return }
        context.cache.revoke(account) { $0.session.map(ended.contains) ?? false }
    }
}
