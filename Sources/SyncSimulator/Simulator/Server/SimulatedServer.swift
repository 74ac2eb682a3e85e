import AdapterKit
import MemoryStore
import RecordStorage
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
    private var store: MemoryStore
    private var pulls: PullMachine
    private var pushes: PushMachine
    private(set) var ledger = Ledger()
    private(set) var backups: [Backup] = []
    /// Of accounts, which are no part of the store.
    var roles: [String: Set<RoleName>] = [:]

    private static let catalogue = SyncCatalogue([(Lab.declaration, .login)])

    init(clock: VirtualClock, sabotage: Sabotage?) async throws {
        self.clock = clock
        self.sabotage = sabotage
        (store, pulls, pushes) = Self.process(MemoryTables(), epoch: 0, clock)
        try await store.install(Lab.collections)
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
        let pulls = PullMachine(catalogue: catalogue, epoch: epoch, seal: PlainSeal(), limits: limits)
        return (store, pulls, PushMachine(catalogue: catalogue, epoch: epoch, seal: PlainSeal()))
    }

    mutating func restart() throws {
        (store, pulls, pushes) = Self.process(try store.image, epoch: ledger.epoch, clock)
    }
}

extension SimulatedServer {
    var oracle: Oracle { Oracle(ledger: ledger, roles: roles) }

    var position: Revision { store.position }

    private func caller(_ person: String) -> SyncCaller { SyncCaller(Lab.principal(person, roles[person] ?? [])) }

    func interest(of person: String) -> SyncInterest { SyncInterest(nil, in: Self.catalogue, for: caller(person)) }

    func news(since position: Revision) async throws -> RowChanges? {
        try await store.withReadSnapshot { try RowChanges(since: position, at: $0) }
    }

    func pull(_ request: PullRequest, for person: String) async throws -> PullPage {
        let (pulls, sabotage, caller) = (pulls, sabotage, caller(person))
        return try await store.withReadSnapshot { snapshot in
            try pulls.page(request, for: caller, at: FaultInjectingSnapshot(snapshot, sabotage))
        }
    }

    /// `deathAfter`: the process ends after so many outcomes, before anything is durable.
    mutating func push(_ request: PushRequest, for person: String, deathAfter: Int?) async throws -> PushResponse {
        let caller = caller(person)
        let plan = try pushes.plan(sabotage == .tieBreak ? withoutBases(request) : request, for: caller)
        let (pushes, sabotage) = (pushes, sabotage)
        let progress = try await store.transact(weight: request.mutations.count) { transaction in
            try pushes.perform(
                plan, in: FaultInjectingTransaction(transaction, sabotage, outcomesLeft: deathAfter))
        }
        try ledger.observe(try store.image)
        return PushResponse(outcomes: progress.outcomes, checkpoint: pulls.mark(store.position, for: caller))
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
    /// A change through another door, with the adapter's own authority.
    mutating func change(_ change: RecordChange) async throws {
        let step = WriteTransaction.Step(adapter: Lab.adapter, change: change)
        _ = try await store.write(WriteTransaction([step], author: "system"))
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
    }

    var floor: Int64 { store.floor.number }

    func keptCopies() async throws -> [KeptCopy] {
        try await store.withReadSnapshot { try $0.keptCopies(.all, before: nil, limit: 1_000_000) }
    }
}
