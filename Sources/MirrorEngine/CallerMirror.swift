import AdapterKit
import RecordStorage
import Synchronization

/// One entity whose rows belong to the callers in whose names another system was asked for them.
///
/// A caller's are an account's with a set of its roles: what was fetched with all of them is not what a key with few reads.
/// ``calls`` fetches a caller's rows once for all who ask with one sign-in at once, and knows which sign-ins have rows. A
/// caller's rows are there as long as one of the caller's own sign-ins has: what is not held any more is removed by
/// ``run()``, which also removes what an earlier process left. Fetches take turns by account.
public final class CallerMirror: Sendable {
    /// Callers whose rows are fetched at once; of one account all but one.
    public static let fetchesAtOnce = 8
    /// Bytes in memory that the rows of one caller have at most while they are fetched, about.
    public static let mostBytes = 8 << 20
    private static let rowsOfOneRemoval = 500

    /// The adapter's name and the entity's.
    public let id: CollectionID
    /// The adapter's declaration of the mirror.
    public let source: MirrorSource
    /// One call is one caller's refresh; its owner is the sign-in.
    public let calls: CallThroughCalls
    private let rows: CallerRows
    private let read: Mirror.Reading
    private let clock: any WallClock
    private let sleep: @Sendable (Duration) async throws -> Void
    private let log: Log
    private let owners: Mutex<Owners>
    private let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    private struct Owners {
        /// The sign-ins in which rows of a caller were fetched.
        var signIns: [RowOwner: Set<String>] = [:]
        /// Fields that were reported as not being as they were.
        var drifts: Set<FieldDrift> = []
    }

    /// `collection`: as ``AdapterDeclaration/keepingRowsOfCallers(of:)`` has it, and `source` too.
    public init(
        _ source: MirrorSource, of collection: CollectionDeclaration, in store: any MirrorStore, clock: any WallClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, log: Log,
        read: @escaping Mirror.Reading
    ) {
        id = collection.id
        self.source = source
        self.read = read
        self.clock = clock
        self.sleep = sleep
        self.log = log
        rows = CallerRows(collection: collection, key: source.callerKey ?? collection.entity.key.field, store: store)
        owners = Mutex(Owners())
        let settings = source.settings
        calls = CallThroughCalls(
            OperationName(unchecked: source.entity.text),
            CallThrough(
                to: source.upstream, freshFor: settings.freshFor, staleFor: settings.staleFor,
                waitFor: settings.waitFor, keptAnswers: settings.callers.count, keptBytes: .max),
            width: Self.fetchesAtOnce, clock: clock, sleep: sleep, log: log, ended: { [wake] in wake.yield() })
    }

    /// Says how old the caller's rows are that may be served now; where they are not fresh, they are fetched first, as
    /// ``CallThroughCalls/answer(input:owner:deadline:perform:)`` does, whose errors it throws.
    public func read(for caller: Principal, signIn: String) async throws -> MirrorAge {
        try await calls.answer(
            input: [], owner: signIn, deadline: CallContext.current?.deadline ?? .now + CallThroughCalls.longestCall
        ) { try await self.fetch(for: caller, signIn) }.age
    }

    /// Has the caller's rows fetched where they are not fresh, and waits for nothing.
    public func ask(for caller: Principal, signIn: String) {
        calls.ask(input: [], owner: signIn) { try await self.fetch(for: caller, signIn) }
    }

    /// The sign-in has ended: the rows go, unless another sign-in of the caller has them too.
    public func forget(_ signIn: String) {
        calls.forget(signIn)
        wake.yield()
    }

    /// Fetches and removes rows until the task is cancelled. To be called once.
    public func run() async {
        guard await removesEverything() else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.calls.run() }
            for await _ in wakes { await removeUnheld() }
            group.cancelAll()
        }
    }

    /// Accounts that have rows.
    public var callers: Int { owners.withLock { Set($0.signIns.keys.map(\.name)).count } }
}

extension CallerMirror {
    private func fetch(for caller: Principal, _ signIn: String) async throws -> OperationResult {
        let began = clock.now()
        let owner = RowOwner(caller)
        var snapshot = try CallerRows.Snapshot(rows, of: owner, limits: source.settings.callers, at: began)
        var request = MirrorRequest(source.entity, caller: caller)
        var age = Duration.zero
        while true {
            try Task.checkCancellation()
            let page = try await read(request)
            age = max(age, page.age)
            try snapshot.add(page.rows)
            guard let next = page.next else { break }
            guard next != request.page else { throw MirrorRefusal(.unexpected, "a page leads to itself") }
            request = MirrorRequest(source.entity, page: next, caller: caller)
        }
        report(snapshot.drifts)
        _ = owners.withLock { $0.signIns[owner, default: []].insert(signIn) }
        try await rows.store(snapshot)
        return OperationResult(.nothing, age: age)
    }

    private func report(_ drifts: Set<FieldDrift>) {
        let new = owners.withLock { owners -> [FieldDrift] in
            let room = max(0, MirrorRows.mostDrifts - owners.drifts.count)
            let new = drifts.subtracting(owners.drifts).sorted().prefix(room)
            owners.drifts.formUnion(new)
            return Array(new)
        }
        for drift in new {
            log.warning(
                "field of a mirror has drifted",
                ["mirror": .text("\(id)"), "field": .text(drift.field), "drift": .text(drift.kind.rawValue)])
        }
    }

    /// Whether a sign-in of the caller has rows, or has them fetched.
    private func isHeld(_ owner: RowOwner) -> Bool {
        owners.withLock { $0.signIns[owner] ?? [] }.contains { calls.holds($0) }
    }

    private func removeUnheld() async {
        let callers = owners.withLock { Array($0.signIns.keys) }
        for caller in callers where !isHeld(caller) {
            do {
                while try await rows.remove(caller, atMost: Self.rowsOfOneRemoval, unless: { self.isHeld(caller) }) {}
                // A fetch that has begun since is one of the sign-ins.
                owners.withLock { owners in
                    let held = (owners.signIns[caller] ?? Set<String>()).filter { calls.holds($0) }
                    owners.signIns[caller] = held.isEmpty ? nil : held
                }
            } catch {
                guard await pauses(after: error) else { return }
                wake.yield()
            }
        }
    }

    /// Removes what an earlier process left: it does not end with a sign-in any more. False where the task was cancelled.
    private func removesEverything() async -> Bool {
        while true {
            do {
                try await rows.removeAll()
                return true
            } catch {
                guard await pauses(after: error) else { return false }
            }
        }
    }

    private func pauses(after error: any Error) async -> Bool {
        guard !Task.isCancelled else { return false }
        log.warning(
            "rows of callers cannot be removed", ["mirror": .text("\(id)"), "detail": .text("\(error)")])
        return (try? await sleep(.seconds(1))) != nil
    }
}

/// The records of a ``CallerMirror``.
package struct CallerRows: Sendable {
    let collection: CollectionDeclaration
    /// The field with the other system's key.
    let key: FieldName
    let store: any MirrorStore

    package init(collection: CollectionDeclaration, key: FieldName, store: any MirrorStore) {
        self.collection = collection
        self.key = key
        self.store = store
    }

    /// The rows that another system has for one caller.
    package struct Snapshot: Sendable {
        private(set) var rows: [String: Row] = [:]
        private(set) var kept: Set<String> = []
        private var reader: MirrorRows
        private let limits: MirrorSettings.Callers
        private let key: FieldName
        private var bytes = 0
        let owner: RowOwner
        let time: WireDate

        package init(
            _ rows: CallerRows, of owner: RowOwner, limits: MirrorSettings.Callers, at time: WireDate
        ) throws {
            reader = try MirrorRows(of: rows.collection.entity, key: rows.key, fieldsBefore: [], at: time)
            key = rows.key
            self.owner = owner
            self.limits = limits
            self.time = time
        }

        var drifts: Set<FieldDrift> { reader.drifts }
        /// Whether a row that is missing is gone.
        var deletesMissing: Bool { !reader.hasUnreadableKey }

        package mutating func add(_ page: [WireDictionary]) throws {
            // Whatever the other system calls so.
            let read = reader.read(
                page.map { row in
                    var row = row
                    row[CallerRowField.roles.text] = .string(owner.roles)
                    return row
                })
            kept.formUnion(read.kept.map(\.text))
            for row in read.rows { add(Row(draft: row)) }
            for (fields, drafts) in read.incomplete {
                for row in drafts { add(Row(draft: row, staged: StagedFields(retained: fields))) }
            }
            guard rows.count + kept.count <= limits.rows, bytes <= CallerMirror.mostBytes else {
                throw MirrorRefusal(.unexpected, "a caller has more rows than are kept for one")
            }
        }

        private mutating func add(_ row: Row) {
            guard let key = row.draft.fields[key.text]?.keyText, rows[key] == nil else { return }
            rows[key] = row
            bytes += WireValue.dictionary(row.draft.fields).approximateBytes
        }

        /// One record, and the fields whose values the stored record keeps.
        struct Row: Sendable {
            let draft: RecordDraft
            var staged = StagedFields()
        }
    }

    /// Makes the owner's rows what the snapshot is, in one transaction.
    package func store(_ snapshot: Snapshot) async throws {
        let owner = snapshot.owner
        let rules = try EntityRules(collection.entity)
        try await store.transact(weight: snapshot.rows.count) { transaction in
            var missing = snapshot.rows
            var changes: [RecordChange] = []
            for record in try records(of: owner, in: transaction) {
                let key = record[key].keyText ?? ""
                guard let row = missing.removeValue(forKey: key) else {
                    if snapshot.deletesMissing, !snapshot.kept.contains(key) {
                        changes.append(change(.delete(record.id)))
                    }
                    continue
                }
                let merged = collection.entity.merging(
                    row.draft.assigning(record.id, by: rules), into: record, at: snapshot.time, row.staged)
                if let merged { changes.append(change(.replace(record.id, merged.fields, orCreate: false))) }
            }
            for row in missing.sorted(by: { $0.key < $1.key }) {
                changes.append(change(.create(nil, row.value.draft.fields)))
            }
            try apply(changes, of: owner, in: transaction)
            try note(snapshot.time, of: owner, in: transaction)
        }
    }

    /// Removes some rows of the caller where `isHeld` says, within the transaction, that no sign-in has them. Whether there may
    /// be more.
    package func remove(_ owner: RowOwner, atMost count: Int, unless isHeld: @escaping @Sendable () -> Bool)
        async throws
        -> Bool
    {
        try await store.transact(weight: count) { transaction in
            guard !isHeld() else { return false }
            let page = try transaction.query(Query(filter(owner), limit: count), in: collection.id)
            try apply(page.records.map { change(.delete($0.id)) }, of: owner, in: transaction)
            guard page.records.count < count else { return true }
            try note(nil, of: owner, in: transaction)
            return false
        }
    }

    package func removeAll() async throws {
        let isEmpty = try await store.withReadSnapshot { snapshot in
            try snapshot.count(nil, in: collection.id) == 0 && snapshot.mirrorState(of: collection.id) == nil
        }
        guard !isEmpty else { return }
        _ = try await store.beginReplacement(of: collection.id).apply(ReplacementOptions(state: [:]))
    }

    private func filter(_ owner: RowOwner) -> Filter {
        .all([
            .compare(CallerRowField.caller, .equal, .string(owner.name)),
            .compare(CallerRowField.roles, .equal, .string(owner.roles)),
        ])
    }

    private func change(_ action: RecordChange.Action) -> RecordChange {
        RecordChange(collection.entity.name, action)
    }

    private func records(of owner: RowOwner, in snapshot: any StoreSnapshot) throws -> [Record] {
        var query = Query(filter(owner), limit: Query.maximumLimit)
        var records: [Record] = []
        while true {
            let page = try snapshot.query(query, in: collection.id)
            records += page.records
            guard let next = page.next else { return records }
            query.start = .after(next)
        }
    }

    private func apply(_ changes: [RecordChange], of owner: RowOwner, in transaction: any StoreTransaction) throws {
        guard !changes.isEmpty else { return }
        _ = try transaction.apply(
            WriteTransaction(
                changes.map { WriteTransaction.Step(adapter: collection.id.adapter, change: $0) }, author: owner.name))
    }

    /// When the other system had the caller's rows; nil: there are none any more.
    private func note(_ asOf: WireDate?, of owner: RowOwner, in transaction: any StoreTransaction) throws {
        var state = try transaction.mirrorState(of: collection.id) ?? [:]
        var callers = state[MirrorStateField.callers]?.dictionaryValue ?? [:]
        callers[owner.text] = asOf.map { .date($0) }
        state[MirrorStateField.callers] = .dictionary(callers)
        try transaction.setMirrorState(state, of: collection.id)
    }
}

extension WireValue {
    /// The text of a key, which is a text or an integer.
    fileprivate var keyText: String? { int64Value.map { String($0) } ?? stringValue }
}
