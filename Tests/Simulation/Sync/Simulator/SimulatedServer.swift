import AdapterKit
import MemoryStore
import RecordStorage
import StoreConformance
import SyncDevice
import SyncEngine
import SyncMessages

/// The server's side of a run: the engine over a store in memory, whose durable image outlives each of its processes.
struct SimulatedServer {
    struct Backup {
        let image: MemoryTables
        let position: Int64
    }

    private let clock: VirtualClock
    private let sabotage: Sabotage?
    private let seed: UInt64
    private var store: MemoryStore
    /// Through which the server sees the store; nil: directly.
    private var lagging: LaggingStore?
    private var pulls: PullMachine
    private var pushes: PushMachine
    private(set) var ledger = Ledger()
    private(set) var backups: [Backup] = []
    /// Of accounts, which are no part of the store.
    var roles: [String: Set<RoleName>] = [:]

    private static let catalogue = SyncCatalogue([SimulatedAdapter.declaration])

    init(clock: VirtualClock, sabotage: Sabotage?, seed: UInt64) async throws {
        self.clock = clock
        self.sabotage = sabotage
        self.seed = seed
        (store, pulls, pushes) = Self.process(MemoryTables(), epoch: 0, clock)
        lagging = LaggingStore(store, ofRun: seed)
        try await store.install(SimulatedAdapter.collections)
    }

    /// What one start of the server makes of its durable image.
    private static func process(
        _ image: MemoryTables, epoch: Int, _ clock: VirtualClock
    ) -> (MemoryStore, PullMachine, PushMachine) {
        let epoch = Epoch("epoch-\(epoch)")
        let store = MemoryStore(image, epoch: epoch, clock: clock)
        var limits = PullLimits()
        limits.scan = 40
        limits.regrant = 4
        limits.pageBytes = 1_000
        let pulls = PullMachine(catalogue: catalogue, epoch: epoch, seal: UnkeyedSeal(), limits: limits)
        return (store, pulls, PushMachine(catalogue: catalogue, epoch: epoch, seal: UnkeyedSeal()))
    }

    mutating func restart() throws {
        (store, pulls, pushes) = Self.process(try store.image, epoch: ledger.epoch, clock)
        lagging = LaggingStore(store, ofRun: seed)
    }
}

extension SimulatedServer {
    var oracle: Oracle { Oracle(ledger: ledger, roles: roles) }

    private var seen: any Store { lagging ?? store }

    /// As far as the server knows it.
    var position: Revision { seen.position }

    var positionLags: Bool { lagging != nil }

    /// The server comes to know of everything that was committed. False where it did.
    func catchUp() -> Bool {
        let before = position
        lagging?.catchUp()
        return position > before
    }

    private func caller(_ person: String) -> SyncCaller {
        SyncCaller(SimulatedAdapter.principal(person, roles[person] ?? []))
    }

    func interest(of person: String) -> SyncInterest { SyncInterest(nil, in: Self.catalogue, for: caller(person)) }

    func changes(since position: Revision) async throws -> RowChanges? {
        try await seen.withReadSnapshot { try RowChanges(since: position, at: $0) }
    }

    func pull(_ request: PullRequest, for person: String) async throws -> PullPage {
        let (pulls, sabotage, caller) = (pulls, sabotage, caller(person))
        return try await seen.withReadSnapshot { snapshot in
            try pulls.page(request, for: caller, at: FaultInjectingSnapshot(snapshot, sabotage))
        }
    }

    /// `deathAfter`: the process ends after so many outcomes, before anything is durable.
    mutating func push(_ request: PushRequest, for person: String, deathAfter: Int?) async throws -> PushResponse {
        let caller = caller(person)
        let plan = try pushes.plan(sabotage == .tieBreak ? withoutBases(request) : request, for: caller)
        let (pushes, sabotage) = (pushes, sabotage)
        let (progress, reached) = try await seen.transact(weight: request.mutations.count) { transaction in
            let progress = try pushes.perform(
                plan, in: FaultInjectingTransaction(transaction, sabotage, outcomesLeft: deathAfter))
            return (progress, transaction.position)
        }
        try ledger.observe(try store.image)
        return PushResponse(
            outcomes: progress.outcomes, checkpoint: pulls.mark(reached, for: caller), position: reached.number)
    }

    private func withoutBases(_ request: PushRequest) -> PushRequest {
        var request = request
        for place in request.mutations.indices where request.mutations[place].baseRev != nil {
            request.mutations[place].baseRev = nil
        }
        return request
    }
}

extension SimulatedServer {
    /// A change through another interface, with the adapter's own authority.
    mutating func change(_ change: RecordChange) async throws {
        let step = WriteTransaction.Step(adapter: SimulatedAdapter.adapter, change: change)
        _ = try await seen.write(WriteTransaction([step], author: "system"))
        try ledger.observe(try store.image)
    }

    mutating func compact(_ bound: CompactionBound) async throws -> Compaction {
        try await store.compact(bound, dryRun: false)
    }

    mutating func backUp() throws {
        backups.append(Backup(image: try store.image, position: store.position.number))
    }

    mutating func restore(_ backup: Backup) {
        ledger.goBack(to: backup.position)
        backups.removeAll { $0.position > backup.position }
        (store, pulls, pushes) = Self.process(backup.image, epoch: ledger.epoch, clock)
        lagging = LaggingStore(store, ofRun: seed)
    }

    var floor: Int64 { store.floor.number }

    func keptCopies() async throws -> [KeptCopy] {
        try await store.withReadSnapshot { try $0.keptCopies(.all, before: nil, limit: 1_000_000) }
    }
}

/// Every change that became durable, seen from outside: what the invariants are checked against.
struct Ledger {
    struct Entry {
        let position: Int64
        let key: RecordKey
        let before: WireDictionary?
        /// Nil: the record went.
        let after: WireDictionary?
    }

    struct Row: Equatable {
        let rev: Int64
        let fields: WireDictionary
    }

    private(set) var entries: [Entry] = []
    private(set) var rows: [RecordKey: Row] = [:]
    /// For each restore, the position it went back to.
    private(set) var cuts: [Int64] = []

    var position: Int64 { entries.last?.position ?? 0 }

    /// Which history positions belong to now.
    var epoch: Int { cuts.count }

    mutating func observe(_ tables: MemoryTables) throws {
        for change in try tables.changes(after: Revision(position), limit: .max) {
            let key = RecordKey(change.collection.entity.text, change.id.text)
            let record = try tables.record(change.id, in: change.collection, visible: nil)
            let after = change.kind == .put ? record?.fields : nil
            entries.append(
                Entry(position: change.position.number, key: key, before: rows[key]?.fields, after: after))
            rows[key] = after.map { Row(rev: change.position.number, fields: $0) }
        }
    }

    mutating func goBack(to position: Int64) {
        cuts.append(position)
        entries.removeAll { $0.position > position }
        rows = [:]
        for entry in entries { rows[entry.key] = entry.after.map { Row(rev: entry.position, fields: $0) } }
    }

    func entry(at position: Int64) -> Entry? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].position == position ? entries[low] : nil
    }

    /// Whether what was sent at that position, in that history, is of the history that there is now.
    func isLost(_ position: Int64, toldIn epoch: Int) -> Bool {
        cuts.dropFirst(epoch).contains { position > $0 }
    }
}

/// Finds accidents, not forgeries: there are no forgers in a run.
public struct UnkeyedSeal: CheckpointSeal {
    /// The only one there is.
    public init() {}

    public func code(for bytes: [UInt8]) -> [UInt8] {
        var code: [UInt8] = []
        for salt in UInt64(1)...2 {
            var hash = salt &* 0xCBF2_9CE4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            code += (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
        }
        return code
    }

    public func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool { self.code(for: bytes) == code }
}
