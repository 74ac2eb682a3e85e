import AdapterKit
import Synchronization

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
    /// goes on losing throws the store's error.
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

    /// The store's error where another write was faster.
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

/// The stored form of an audit entry: its id is its number in 19 digits, so that the order of ids is that of entries.
enum AuditEntryRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.auditEntries, summary: "Sign-ins, refusals and administration, hash-chained.",
        fields: [
            Field("number", .integer, isRequired: true),
            Field("milliseconds", .integer, isRequired: true),
            Field("kind", .string(maximumLength: 64), isRequired: true),
            Field("actor", .string(maximumLength: 64), isRequired: true),
            Field("subject", .string(maximumLength: 255), isRequired: true),
            Field("address", .string(maximumLength: 64), isRequired: true),
            Field("detail", .string(maximumLength: 1024), isRequired: true),
            Field("digest", .data(maximumBytes: 32), isRequired: true),
        ])

    static func id(_ number: Int64) -> RecordID {
        let digits = String(number)
        return RecordID(unchecked: String(repeating: "0", count: max(0, 19 - digits.count)) + digits)
    }

    static func read(_ record: Record) throws -> AuditEntry {
        let reader = RecordReader(record)
        return AuditEntry(
            number: try reader.integer("number"), milliseconds: try reader.integer("milliseconds"),
            kind: try reader.text("kind"), actor: try reader.text("actor"), subject: try reader.text("subject"),
            address: try reader.text("address"), detail: try reader.text("detail"),
            digest: try reader.digest("digest").bytes)
    }

    static func creation(_ entry: AuditEntry) -> RecordChange {
        let fields: WireDictionary = [
            "number": .int64(entry.number), "milliseconds": .int64(entry.milliseconds), "kind": .string(entry.kind),
            "actor": .string(entry.actor), "subject": .string(entry.subject), "address": .string(entry.address),
            "detail": .string(entry.detail), "digest": .data(entry.digest),
        ]
        return RecordChange(IdentityCollections.auditEntries, .create(id(entry.number), fields), if: .absent)
    }
}

/// Which entries of the audit log are wanted; nil or empty: whatever it is.
public struct AuditSelection: Sendable, Equatable {
    /// ``AuditEntry/kind``.
    public var kind: String?
    /// Actors and subjects; entries of any of them are meant.
    public var people: [String]
    /// Entries that were written since then, and before then.
    public var since: WireDate?
    public var until: WireDate?

    public init(kind: String? = nil, people: [String] = [], since: WireDate? = nil, until: WireDate? = nil) {
        (self.kind, self.people, self.since, self.until) = (kind, people, since, until)
    }

    var filter: Filter? {
        let texts = people.map { WireValue.string($0) }
        func time(_ date: WireDate) -> WireValue { .int64(UnixTime(date).wholeMilliseconds) }
        let parts: [Filter?] = [
            kind.map { .compare("kind", .equal, .string($0)) },
            people.isEmpty ? nil : .any([.oneOf("actor", texts), .oneOf("subject", texts)]),
            since.map { .compare("milliseconds", .greaterOrEqual, time($0)) },
            until.map { .compare("milliseconds", .less, time($0)) },
        ]
        let given = parts.compactMap(\.self)
        return given.isEmpty ? nil : .all(given)
    }
}

/// The one record that says where the audit log ends, so that a log cut off at its end does not look whole.
enum AuditHeadRecord {
    static let id: RecordID = "head"

    static let entity = IdentityCollections.entity(
        IdentityCollections.auditHead, summary: "Where the audit log ends.",
        fields: [
            Field("count", .integer, isRequired: true), Field("digest", .data(maximumBytes: 32), isRequired: true),
        ])

    static func read(_ record: Record) throws -> AuditHead {
        let reader = RecordReader(record)
        return AuditHead(count: try reader.integer("count"), digest: try reader.digest("digest").bytes)
    }

    /// Refused where another writer has moved the head since `record` was read.
    static func move(_ record: Record?, to head: AuditHead) -> RecordChange {
        let fields: WireDictionary = ["count": .int64(head.count), "digest": .data(head.digest)]
        guard let record else { return RecordChange(IdentityCollections.auditHead, .create(id, fields), if: .absent) }
        return RecordChange(IdentityCollections.auditHead, .update(id, fields), if: .revision(record.revision))
    }
}

/// Audit entries that a full store refused. The events changed nothing in the store, so they can be written later.
///
/// They are kept in memory and written when the store takes writes again, by ``flush()`` or before the next entry. Each
/// names the time at which it was postponed. Beyond ``maximum`` the oldest is dropped, and the number of dropped
/// entries is written.
final class PostponedEvents: Sendable {
    static let maximum = 1_000

    private struct State {
        var events: [AuditEvent] = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let writes: AuditedWrites
    private let clock: any WallClock
    private let kind: AuditEvent.Kind

    /// Creates a place for events. Dropped ones are counted as of `kind`.
    init(_ kind: AuditEvent.Kind, writes: AuditedWrites, clock: any WallClock) {
        self.kind = kind
        self.writes = writes
        self.clock = clock
    }

    /// Returns when they are durable, or postponed because the store is full. Throws what else a write throws.
    func record(_ events: [AuditEvent]) async throws {
        let earlier = state.withLock { state in
            defer { state = State() }
            return state
        }
        let lost = earlier.dropped > 0 ? [AuditEvent(kind, actor: "", detail: "\(earlier.dropped) dropped")] : []
        let all = lost + earlier.events + events
        guard !all.isEmpty else { return }
        do {
            try await writes.write(author: events.first?.actor ?? "") { AuditedChange([], all, result: ()) }
        } catch let error as PorticoError where error.code == .storeFull {
            let now = clock.now()
            keep(earlier, adding: events.map { $0.postponed(at: now) })
        } catch {
            keep(earlier, adding: [])
            throw error
        }
    }

    func flush() async throws { try await record([]) }

    private func keep(_ earlier: State, adding events: [AuditEvent]) {
        state.withLock { state in
            let all = earlier.events + state.events + events
            state.events = Array(all.suffix(Self.maximum))
            state.dropped += earlier.dropped + all.count - state.events.count
        }
    }
}

extension AuditEvent {
    /// The entry has the time of its writing.
    fileprivate func postponed(at instant: WireDate) -> AuditEvent {
        let words = [detail, instant.rfc3339.map { "at \($0)" } ?? ""].filter { !$0.isEmpty }
        return AuditEvent(
            kind, actor: actor, subject: subject, address: address, detail: words.joined(separator: ", "))
    }
}

/// The one record that says where the log begins, once entries were cut off: the last that was removed.
enum AuditBaseRecord {
    static let id: RecordID = "base"

    static func move(_ record: Record?, to base: AuditHead) -> RecordChange {
        let fields: WireDictionary = ["count": .int64(base.count), "digest": .data(base.digest)]
        guard let record else { return RecordChange(IdentityCollections.auditHead, .create(id, fields), if: .absent) }
        return RecordChange(IdentityCollections.auditHead, .update(id, fields), if: .revision(record.revision))
    }
}
