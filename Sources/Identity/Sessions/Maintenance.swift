import AdapterKit

/// What has to be done now and then.
struct Maintenance: Sendable {
    /// How many sessions one transaction touches.
    static let batch = 200

    let context: IdentityContext
    let keys: SigningKeys
    let backoff: BackoffGate

    func run() async throws {
        backoff.forget()
        try await context.verifications.flush()
        try await context.refusals.flush()
        try await noteUses()
        try await removeEnded()
        try await keys.rotateWhenDue()
        if let age = context.configuration.auditRetention {
            try await AuditCut(context: context).removeEntries(olderThan: age)
        }
    }

    /// Calls only remember in memory that a session was used; here it is written, many at once, so that a restart does
    /// not find it idle.
    private func noteUses() async throws {
        var rest = Array(context.cache.takeUsedSessions())[...]
        while !rest.isEmpty {
            try await write(rest.prefix(Self.batch))
            rest = rest.dropFirst(Self.batch)
        }
    }

    /// A session that ended meanwhile refuses the whole batch; then they go one by one.
    private func write(_ uses: ArraySlice<(key: SessionID, value: WireDate)>) async throws {
        let changes = uses.map {
            RecordChange(
                IdentityCollections.sessions, .update($0.key.recordID, ["lastUsed": .date($0.value)]), if: .exists)
        }
        do {
            try await context.records.write(changes, author: Principal.system.name)
        } catch let error as PorticoError where Self.meansGone(error) {
            guard uses.count > 1 else { return }
            for index in uses.indices { try await write(uses[index...index]) }
        }
    }

    /// Nothing happens to anybody here, so nothing is recorded.
    private func removeEnded() async throws {
        let ended = Filter.compare("ends", .less, .date(context.clock.now()))
        while true {
            let query = Query(ended, limit: Self.batch)
            let page = try await context.records.page(query, in: IdentityCollections.sessions)
            guard !page.records.isEmpty else { return }
            let changes = page.records.map { RecordChange(IdentityCollections.sessions, .delete($0.id)) }
            do {
                try await context.records.write(changes, author: Principal.system.name)
            } catch let error as PorticoError where Self.meansGone(error) {
                // Signed out in this moment; the next run finds the rest.
                return
            }
        }
    }

    private static func meansGone(_ error: PorticoError) -> Bool {
        error.code == .recordNotFound || error.code == .preconditionFailed
    }
}
