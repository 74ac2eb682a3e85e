import AdapterKit

/// The work that has to be done now and then.
struct Maintenance: Sendable {
    /// Sessions that one transaction touches.
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

    /// No account changes here, so nothing is recorded.
    private func removeEnded() async throws {
        let ended = Filter.compare("ends", .lessOrEqual, .date(context.clock.now()))
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

/// Forgets what portals gave an account once no session is signed in with it any more.
struct PortalSessionCleanup: Sendable {
    let sessions: SessionDirectory
    let providers: CurrentProviders

    private var portals: [PortalProvider] { providers.value.portals }

    /// To be called after a sign-in of the account has ended.
    func check(_ account: AccountID) async throws {
        guard !portals.isEmpty, try await sessions.sessions(of: account).isEmpty else { return }
        for portal in portals { portal.signIns.forget(account) }
    }

    /// Whatever ended them: those who have not called for a while. HTTP Basic has no sign-in and lives by its calls.
    func sweep(now: WireDate) async throws {
        let time = now + (.zero - Self.grace)
        for portal in portals {
            for account in portal.signIns.unusedAccounts(since: time)
            where try await sessions.sessions(of: account).isEmpty {
                portal.signIns.forget(account)
            }
        }
    }

    /// Longer than a verified pair of Basic is remembered.
    private static let grace = Duration.seconds(600)
}

/// Removes the oldest entries of the audit log, so that what is left can still be verified.
///
/// A cut is one transaction: the entries go, ``AuditBaseRecord`` names the last of them by number and digest, and an
/// entry at the log's end says the same. Verification begins at the base and believes it because an entry of the chain
/// vouches for it: moving the base forges an entry, which is found like every other forgery.
struct AuditCut: Sendable {
    /// Entries that one transaction removes.
    static let batch = 1000
    /// Transactions that one run makes; the rest waits for the next.
    static let batches = 20

    let context: IdentityContext

    /// Removes what is older than `age`, but never the last entry, once something is overdue by a tenth of it or a day:
    /// every cut is an entry too. Returns how many entries went.
    @discardableResult
    func removeEntries(olderThan age: Duration) async throws -> Int {
        let end = UnixTime(context.clock.now()) - age
        let overdue = end - min(age / 10, .seconds(86_400))
        guard try await !entries(before: overdue.wholeMilliseconds).isEmpty else { return 0 }
        var removed = 0
        for _ in 0..<Self.batches {
            let count = try await removeBatch(before: end.wholeMilliseconds)
            removed += count
            if count < Self.batch { break }
        }
        return removed
    }

    private func removeBatch(before milliseconds: Int64) async throws -> Int {
        try await context.writes.write(author: Principal.system.name) {
            let old = try await entries(before: milliseconds)
            guard let last = old.last else { return AuditedChange([], [], result: 0) }
            let base = AuditHead(last)
            let record = try await context.records.record(AuditBaseRecord.id, in: IdentityCollections.auditHead)
            let removals = old.map {
                RecordChange(IdentityCollections.auditEntries, .delete(AuditEntryRecord.id($0.number)))
            }
            return AuditedChange(
                removals + [AuditBaseRecord.move(record, to: base)],
                [AuditEvent(.auditCut, actor: Principal.system.id, subject: "auditLog", detail: base.text)],
                result: old.count)
        }
    }

    /// The log's beginning, as far as it is older: times may go back when a clock is set, so the first young entry ends
    /// it. The last entry stays: what a cut leaves must not be empty before it is written.
    private func entries(before milliseconds: Int64) async throws -> [AuditEntry] {
        let query = Query(order: [SortKey("id")], limit: Self.batch + 1)
        let first = try await context.records.page(query, in: IdentityCollections.auditEntries).records.map(
            AuditEntryRecord.read)
        return Array(first.dropLast().prefix { $0.milliseconds < milliseconds })
    }
}
