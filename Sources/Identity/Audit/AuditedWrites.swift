import AdapterKit

/// Changes, and the events that they are: written together or not at all.
struct AuditedChange<Result: Sendable>: Sendable {
    let changes: [RecordChange]
    let events: [AuditEvent]
    let result: Result

    /// Without any event nothing is written.
    init(_ changes: [RecordChange], _ events: [AuditEvent], result: Result) {
        self.changes = changes
        self.events = events
        self.result = result
    }
}

extension AuditedChange where Result == Void {
    init(_ changes: [RecordChange], _ event: AuditEvent) {
        self.init(changes, [event], result: ())
    }
}

/// Writes changes with their audit entries in one transaction.
///
/// Entries build on one another, so writers take turns; the condition on the head's revision decides where another node
/// writes to the same store. The plan is made in the turn, on what is true then, and again after a lost race.
struct AuditedWrites: Sendable {
    static let maximumAttempts = 8

    let records: IdentityRecords
    let clock: any WallClock
    private let mutex: AsyncMutex

    init(_ records: IdentityRecords, clock: any WallClock, waiting: Int) {
        self.records = records
        self.clock = clock
        mutex = AsyncMutex(limit: waiting)
    }

    /// Throws what the plan throws. A condition that does not hold makes a new plan on what is true by then; a plan that
    /// goes on losing throws what the store said.
    func write<Result: Sendable>(
        author: String, _ plan: @Sendable @escaping () async throws -> AuditedChange<Result>
    ) async throws -> Result {
        try await mutex.pass {
            for _ in 1..<Self.maximumAttempts {
                do {
                    return try await attempt(author, plan)
                } catch is LostRace {
                    try Task.checkCancellation()
                }
            }
            do { return try await attempt(author, plan) } catch let lost as LostRace { throw lost.reason }
        }
    }

    func record(_ event: AuditEvent) async throws {
        try await write(author: event.actor) { AuditedChange([], event) }
    }

    private func attempt<Result: Sendable>(
        _ author: String, _ plan: @Sendable () async throws -> AuditedChange<Result>
    ) async throws -> Result {
        let head = try await readHead()
        let change = try await plan()
        guard !change.events.isEmpty else { return change.result }
        do {
            try await records.write(change.changes + entries(change.events, after: head), author: author)
            return change.result
        } catch let error as PorticoError where Self.conflicts.contains(error.code) {
            throw LostRace(reason: error)
        }
    }

    /// What a store says where somebody else was faster.
    private static let conflicts: Set<ErrorCode> = [.preconditionFailed, .recordExists, .recordNotFound]

    private struct LostRace: Error {
        let reason: PorticoError
    }

    private func entries(_ events: [AuditEvent], after record: Record?) throws -> [RecordChange] {
        let now = clock.now()
        var head = try record.map(AuditHeadRecord.read) ?? .empty
        var changes: [RecordChange] = []
        for event in events {
            let entry = AuditEntry(event, after: head, at: now)
            changes.append(AuditEntryRecord.creation(entry))
            head = AuditHead(entry)
        }
        return changes + [AuditHeadRecord.move(record, to: head)]
    }

    private func readHead() async throws -> Record? {
        try await records.record(AuditHeadRecord.id, in: IdentityCollections.auditHead)
    }
}
