import SyncMessages
import ValueTree

/// The pull under way: gathers its pages apart from the rows, verifies what they come to, and asks for more until every
/// scope agrees with its checksum. What it gathered is in memory, or staged where the rows are kept, and counts for this
/// pull alone: one that is cut off begins again from the last checkpoint applied.
struct PendingPull: Sendable {
    enum Step: Equatable {
        case ask(PullRequest)
        /// Whole and verified: to be applied together with the checkpoint.
        case apply(StagedRows, PullCompletion, startsOver: Bool, moves: [RecordKey: String])
        /// The server's checksums and its pages did not fit together, several times.
        case giveUp(scopes: [String])
    }

    private let limits: DeviceLimits
    private var staged = StagedRows()
    private var startsOver = false
    /// Records that have another id now.
    private var moves: [RecordKey: String] = [:]
    private var refetches = 0
    private var description: String?

    init(limits: DeviceLimits) {
        self.limits = limits
    }

    /// From the checkpoint; from nothing where it is nil.
    mutating func begin(
        from checkpoint: String?, over rows: ReplicaRows, knowing description: String?
    ) -> PullRequest {
        self.description = description
        staged = StagedRows()
        moves = [:]
        refetches = 0
        startsOver = checkpoint == nil
        if startsOver { for collection in rows.collections { staged.clear(collection) } }
        return request(checkpoint)
    }

    mutating func receive(_ page: PullPage, over rows: ReplicaRows) -> Step {
        for scope in page.reset { staged.clear(scope) }
        for operation in page.operations {
            staged.apply(operation, over: rows)
            if case .remove(let id?) = operation.kind { moves[RecordKey(operation.collection, operation.id)] = id }
        }
        switch page.ending {
        case .next(let token): return .ask(request(token))
        case .complete(let completion): return verify(completion, over: rows)
        }
    }

    private mutating func verify(_ completion: PullCompletion, over rows: ReplicaRows) -> Step {
        let wrong = completion.scopes.filter { !staged.agrees($0, over: rows) }.map(\.scope)
        if wrong.isEmpty { return finish(completion, over: rows) }
        guard refetches < limits.refetches else { return .giveUp(scopes: wrong) }
        refetches += 1
        return .ask(request(completion.checkpoint, refetch: wrong))
    }

    private mutating func finish(_ completion: PullCompletion, over rows: ReplicaRows) -> Step {
        // What no scope counts any more is no caller's to keep.
        let named = Set(completion.scopes.map(\.scope))
        let touched = rows.collections.union(staged.collections)
        for collection in touched.subtracting(named) { staged.clear(collection) }
        // Not held any longer than needed: after a first sync it is everything there is.
        defer { staged = StagedRows() }
        return .apply(staged, completion, startsOver: startsOver, moves: moves)
    }

    /// The piece that is to be staged now; nil: nothing yet.
    var piece: StagedPiece? { staged.changes.count >= limits.gatheredRecords ? staged.piece : nil }

    mutating func areStaged(by kept: any PersistedRows) {
        staged.areStaged(by: kept)
    }

    private func request(_ checkpoint: String?, refetch: [String] = []) -> PullRequest {
        PullRequest(
            checkpoint: checkpoint, collections: limits.collections, limit: limits.pageOperations, refetch: refetch,
            describe: description ?? "none")
    }
}

/// The server's records as of one checkpoint, with each collection's checksum kept along. In memory, or what
/// ``PersistedRows`` have under what they have not stored yet.
public struct ReplicaRows: Sendable {
    private var rows: [String: [String: RecordCopy]] = [:]
    private var checksums: [String: ScopeChecksum] = [:]
    /// Nil: they are in memory.
    let kept: (any PersistedRows)?
    private var unstored = StagedRows()

    /// Nothing yet.
    public init() {
        kept = nil
    }

    /// Rows that are stored elsewhere and read from there.
    public init(keptBy kept: any PersistedRows) {
        self.kept = kept
        checksums = kept.checksums()
    }

    /// The server's record; nil where it is not there.
    public subscript(key: RecordKey) -> RecordCopy? {
        guard let kept else { return rows[key.collection]?[key.id] }
        return unstored.change(of: key) ?? kept.record(key)
    }

    func revision(_ key: RecordKey) -> Int64? {
        guard let kept else { return self[key]?.rev }
        if let change = unstored.change(of: key) { return change?.rev }
        return kept.revision(key)
    }

    /// In no particular order.
    public func records(of collection: String) -> [RecordCopy] {
        guard let kept else { return rows[collection].map { Array($0.values) } ?? [] }
        let stored = kept.records(of: collection).filter { unstored.change(of: RecordKey(collection, $0.id)) == nil }
        return stored + unstored.changes(of: collection).compactMap(\.value)
    }

    /// The collections that have records.
    public var collections: Set<String> { Set(checksums.filter { $0.value.count > 0 }.keys) }

    /// The checksum of the collection's rows.
    public func checksum(of collection: String) -> ScopeChecksum { checksums[collection] ?? ScopeChecksum() }

    mutating func apply(_ staged: StagedRows) {
        for collection in staged.collections { checksums[collection] = staged.checksum(of: collection, over: self) }
        guard kept == nil else { return unstored.add(staged) }
        for collection in staged.cleared { rows[collection] = nil }
        for collection in staged.collections {
            for (key, copy) in staged.changes(of: collection) { rows[collection, default: [:]][key.id] = copy }
        }
    }

    /// Everything that was applied is where the rows are kept.
    mutating func forgetStored() {
        unstored = StagedRows()
    }
}

extension ReplicaRows: Equatable {
    /// Whether kept rows are the same ones, with the same beside them.
    public static func == (left: ReplicaRows, right: ReplicaRows) -> Bool {
        left.kept === right.kept && left.rows == right.rows && left.unstored == right.unstored
            && left.checksums.filter { $0.value.count > 0 } == right.checksums.filter { $0.value.count > 0 }
    }
}

/// New states of records, the last word on each. Records that come in the order of their keys, as a snapshot's do, are
/// kept in it: no hashes, and nothing to sort when they are written.
public struct RecordChanges: Sendable {
    /// The new state of one record.
    public struct Change: Sendable, Equatable {
        /// The record.
        public let key: RecordKey
        /// Nil: the record goes.
        public fileprivate(set) var copy: RecordCopy?
    }

    private var ascending: [Change] = []
    private var others: [RecordKey: RecordCopy?] = [:]

    /// Nothing yet.
    public init() {}

    /// The number of records that change.
    public var count: Int { ascending.count + others.count }
    /// Whether no record changes.
    public var isEmpty: Bool { count == 0 }

    /// Nil: unknown.
    public subscript(key: RecordKey) -> RecordCopy?? {
        guard let place = place(of: key) else { return others.isEmpty ? nil : others[key] }
        return .some(ascending[place].copy)
    }

    mutating func set(_ copy: RecordCopy?, of key: RecordKey) {
        if let last = ascending.last, last.key >= key {
            if let place = place(of: key) { ascending[place].copy = copy } else { others[key] = .some(copy) }
        } else {
            if !others.isEmpty { others[key] = nil }
            ascending.append(Change(key: key, copy: copy))
        }
    }

    mutating func removeAll(of collection: String) {
        ascending.removeAll { $0.key.collection == collection }
        others = others.filter { $0.key.collection != collection }
    }

    mutating func merge(_ later: RecordChanges) {
        for change in later.sorted { set(change.copy, of: change.key) }
    }

    /// In the order of their keys.
    public var sorted: [Change] {
        guard !others.isEmpty else { return ascending }
        return (ascending + others.map { Change(key: $0.key, copy: $0.value) }).sorted { $0.key < $1.key }
    }

    private func place(of key: RecordKey) -> Int? {
        guard let last = ascending.last, key <= last.key else { return nil }
        var (low, high) = (0, ascending.count)
        while low < high {
            let middle = (low + high) / 2
            if ascending[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return ascending[low].key == key ? low : nil
    }
}

extension RecordChanges: Equatable {
    public static func == (left: RecordChanges, right: RecordChanges) -> Bool { left.sorted == right.sorted }
}
