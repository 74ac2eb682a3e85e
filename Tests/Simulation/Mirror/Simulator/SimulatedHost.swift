import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import StoreConformance
import SyncDevice
import SyncEngine
import SyncMessages
import SyncSimulator

/// The gateway of a run: a store in memory whose image outlives each process, the mirror's machine, the pulls.
struct SimulatedHost {
    static let adapter: AdapterName = "hr"
    static let mirror = CollectionID(adapter, "people")

    let declaration: AdapterDeclaration
    let collection: CollectionDeclaration
    let source: MirrorSource
    private let clock: VirtualClock
    private let seed: UInt64
    private var base: MemoryStore
    /// What the host sees of it: in some runs with a position that lags.
    private(set) var store: any MirrorStore
    private var pulls: PullMachine
    private var pushes: PushMachine
    var machine: MirrorMachine
    /// What the store has of the mirror beside its records.
    var stored: MirrorState
    var held: MirrorRefresh.Held?

    init(
        reading: MirrorSource.Reading, settings: MirrorSettings, sabotage: MirrorSabotage?, clock: VirtualClock,
        seed: UInt64, random: Double
    ) async throws {
        self.clock = clock
        self.seed = seed
        source = MirrorSource("people", of: "hr", reading: reading, settings: settings)
        let people = Entity(
            "people", summary: "A mirror.", key: EntityKey("id", chosenBy: .caller),
            fields: [
                Field("id", .string(maximumLength: 64), isRequired: true),
                Field("name", .string(maximumLength: 64), isRequired: true),
                Field("readers", .list(of: .string), isRequired: true), Field("seen", .string, isNullable: true),
            ],
            rows: RowRules(
                read: sabotage == .rowRules ? .everyone : .sharedWith("readers"),
                write: sabotage == .writers ? .everyone : .nobody))
        let notes = Entity(
            "notes", summary: "Not a mirror.", key: EntityKey("id", chosenBy: .caller),
            fields: [
                Field("id", .string(maximumLength: 64), isRequired: true), Field("text", .string(maximumLength: 64)),
            ])
        declaration = AdapterDeclaration(
            name: Self.adapter, title: "HR", summary: "For the simulator.", version: "1",
            access: AccessRights(read: .login, write: .login), entities: [people, notes],
            mirrors: sabotage == .writers ? [] : [source])
        collection = CollectionDeclaration(adapter: Self.adapter, entity: people)
        (base, pulls, pushes) = Self.process(MemoryTables(), declaration, clock)
        store = LaggingStore(base, ofRun: seed) ?? base
        try await store.install(declaration.entities.map { CollectionDeclaration(adapter: Self.adapter, entity: $0) })
        stored = MirrorState()
        machine = MirrorMachine(settings: settings, asOf: nil, cursor: nil, at: clock.now(), random: random)
    }

    private static func process(
        _ image: MemoryTables, _ declaration: AdapterDeclaration, _ clock: VirtualClock
    ) -> (MemoryStore, PullMachine, PushMachine) {
        let epoch = Epoch("mirrors")
        let catalogue = SyncCatalogue([declaration])
        return (
            MemoryStore(image, epoch: epoch, clock: clock),
            PullMachine(catalogue: catalogue, epoch: epoch, seal: UnkeyedSeal(), limits: PullLimits()),
            PushMachine(catalogue: catalogue, epoch: epoch, seal: UnkeyedSeal())
        )
    }

    /// The process ends, and another one begins with what is durable.
    func restarted(random: Double) async throws -> SimulatedHost {
        var next = self
        (next.base, next.pulls, next.pushes) = Self.process(try base.image, declaration, clock)
        next.store = LaggingStore(next.base, ofRun: seed) ?? next.base
        next.stored = MirrorState(try await next.store.withReadSnapshot { try $0.mirrorState(of: Self.mirror) })
        next.machine = MirrorMachine(
            settings: source.settings, asOf: next.stored.asOf, cursor: next.stored.cursor, at: clock.now(),
            random: random)
        next.held = nil
        return next
    }

    func pull(_ request: PullRequest, for person: String) async throws -> PullPage {
        let (pulls, caller) = (pulls, Self.caller(person))
        return try await store.withReadSnapshot { try pulls.page(request, for: caller, at: $0) }
    }

    func push(_ request: PushRequest, for person: String) async throws -> PushResponse {
        let (pushes, caller) = (pushes, Self.caller(person))
        let plan = try pushes.plan(request, for: caller)
        let (progress, reached) = try await store.transact(weight: request.mutations.count) { transaction in
            (try pushes.perform(plan, in: transaction), transaction.position)
        }
        return PushResponse(
            outcomes: progress.outcomes, checkpoint: pulls.mark(reached, for: caller), position: reached.number)
    }

    private static func caller(_ person: String) -> SyncCaller {
        SyncCaller(Principal(kind: .user, id: "id-\(person)", name: person))
    }

    /// The records of the mirror, by their ids.
    func rows() async throws -> [String: Record] {
        let page = try await store.query(Query(order: [SortKey("id")], limit: 10_000), in: Self.mirror)
        return Dictionary(page.records.map { ($0.id.text, $0) }, uniquingKeysWith: { $1 })
    }

    func writeNote(_ id: String) async throws {
        let change = RecordChange("notes", .create(RecordID(unchecked: id), ["text": .string("text of \(id)")]))
        _ = try await store.write(
            WriteTransaction([WriteTransaction.Step(adapter: Self.adapter, change: change)], author: "system"))
    }

    /// The ids of all notes.
    func notes() async throws -> Set<String> {
        let page = try await store.query(
            Query(order: [SortKey("id")], limit: 10_000), in: CollectionID(Self.adapter, "notes"))
        return Set(page.records.map(\.id.text))
    }
}

/// A device of a run, and the request that it waits for.
struct SimulatedMirrorDevice {
    let person: String
    var machine: Device
    /// In the order in which they were made.
    var requests: [Request] = []
    var isAsleep = false
    var edits = 0

    enum Request {
        case pull(RequestNumber, PullRequest)
        case push(RequestNumber, PushRequest)
    }

    init(_ number: Int, person: String, pageOperations: Int) {
        self.person = person
        machine = Device(
            restoring: DeviceState(clientID: "d\(number)"), limits: DeviceLimits(pageOperations: pageOperations))
    }

    /// The revisions of the mirror's rows that it has.
    var rows: [String: Int64] {
        Dictionary(machine.state.rows.records(of: "people").map { ($0.id, $0.rev) }, uniquingKeysWith: { $1 })
    }
}
