import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import StoreConformance
import SyncDevice
import SyncEngine
import SyncMessages
import SyncSimulator

/// What a run of writes breaks on purpose, to show that it would be noticed: each switches off one guard.
public enum WriteSabotage: String, Sendable, CaseIterable {
    /// A write whose outcome is unknown is sent again, although the other system honours no keys.
    case repeating
    /// That a write may have been sent is not durable before it is sent, where no keys are honoured.
    case forgetting
    /// Each attempt has a key of its own.
    case newKeys = "new-keys"
    /// Writes of one record are sent side by side.
    case unordered
    /// A write whose outcome is unknown counts as made.
    case optimism
    /// A write goes from the store before it is sent.
    case forgetfulness
    /// A refresh takes records that have a pending write.
    case unprotected
    /// A refresh takes records of which a write was made while it read.
    case unsettled
    /// A device's change waits for the other system as one over HTTP does.
    case waiting
}

/// One run: callers and devices change a mirror, the gateway sends the changes to another system and ends between any two
/// steps, requests and answers are lost or late. The promises are checked after each step; at the end the faults stop.
///
/// 1. No acknowledged change is lost: it is pending or unknown, or the other system has made or refused it, or was read and
///    has the record as the change wants it (a delete of what never came to be). Of an update that was joined with one
///    before it, that write is.
/// 2. None is made twice. What a caller was answered as not made is not made.
/// 3. Changes of one record are made in the order in which they were acknowledged; where the other system chose another key,
///    those of each of its two ids.
/// 4. A change whose outcome was lost is made, or stays unknown until an operator decides: at once where the other system
///    honours no keys, else after some time.
/// 5. Devices' changes are acknowledged at once, whatever the other system does.
/// 6. A refresh leaves a record with a pending change as that change has it, and one of which a change was made while it
///    read as that made it.
/// 7. When the faults stop and operators have decided, the gateway has what the other system has, and devices what the
///    gateway has.
/// 8. A record that gets its key in the other system has it here and on devices, and an edit that names the old one is made
///    on it.
public actor WriteSimulation {
    private static let adapter: AdapterName = "hr"
    private static let mirror = CollectionID(adapter, "people")
    private static let records = (0..<6).map { "p\($0)" }

    private let seed: UInt64
    private let operations: Int
    private let sabotage: WriteSabotage?
    private var random: SeededRandom
    private let clock = VirtualClock()
    private var trace: Trace
    private var counts = SimulationCounts()

    private let source: MirrorSource
    private let declaration: AdapterDeclaration
    private let collection: CollectionDeclaration
    private let delivery: WriteDelivery
    private let pushes: PushMachine
    private let pulls: PullMachine

    // What ends with the process.
    private var base: MemoryStore
    /// What the gateway sees of it: in some runs with a position that lags.
    private var store: any MirrorStore
    private var lagging: LaggingStore?
    /// The position of the pending writes that were loaded last.
    private var loaded: Revision?
    private var machine: PendingWrites
    private var protection: RefreshProtection
    private var underWay: [UnderWay] = []
    /// Where the log has what callers wait for.
    private var awaited: [RecordID: Int64] = [:]
    private var stored = MirrorState()

    // What does not.
    private var system: SimulatedLedger
    private var hasFaults = true
    private var isRefreshing = false
    /// Records of which a write was made since the refresh began.
    private var madeMeanwhile: Set<RecordID> = []
    /// How they are when all rows have been read; nil: there is no such record.
    private var rowsMeanwhile: [RecordID: WireDictionary?] = [:]
    private var made = 0
    private var notes = 0
    private var sequences: [String: Int64] = [:]
    /// Keys of changes whose outcome was not known and whose record is as they want it.
    private var asWanted: Set<String> = []
    private var acknowledged: [String: Acknowledged] = [:]
    private var violation: Violation?
    /// With replicas of their own; both are of one person.
    private var devices = (0..<2).map { SimulatedMirrorDevice($0, person: "ann", pageOperations: 5) }

    /// A change that was answered with success, by its key.
    private struct Acknowledged {
        let record: String
        let position: Int64
        /// Of the write that it is, or is joined in.
        let write: String
    }

    /// A write on its way, and what is done with it next.
    private enum UnderWay {
        case begin(RecordID)
        case send(PendingWrite)
        case finish(PendingWrite, MirrorWriteResult)
        case refuse(PendingWrite, ErrorCode, isAwaited: Bool, MirrorRecord)
        case lookFor(RecordID)
        case decide(PendingWrite, MirrorRecord)

        var id: RecordID {
            switch self {
            case .begin(let id), .lookFor(let id): id
            case .send(let write), .finish(let write, _), .refuse(let write, _, _, _), .decide(let write, _): write.id
            }
        }
    }

    /// `plan.sabotage` is ignored.
    public init(_ plan: MirrorSimulationPlan, sabotage: WriteSabotage? = nil) async throws {
        seed = plan.seed
        operations = plan.operations
        self.sabotage = sabotage
        var random = SeededRandom(seed: plan.seed)
        trace = Trace(isKept: plan.keepsTrace)
        let honoursKeys = random.chance(50)
        system = SimulatedLedger(honoursKeys: honoursKeys, choosesKeys: random.chance(40))
        source = MirrorSource(
            "people", of: "hr", writing: .queued, honoursIdempotencyKeys: honoursKeys || sabotage == .repeating,
            settings: MirrorSettings(guard: .init(from: .max)))
        let people = Entity(
            "people", summary: "A mirror.", key: EntityKey("id", chosenBy: .caller),
            fields: [
                Field("id", .string(maximumLength: 64), isRequired: true),
                Field("name", .string(maximumLength: 64), isRequired: true),
                Field("text", .string(maximumLength: 64), isNullable: true),
            ])
        let notes = Entity(
            "notes", summary: "Not a mirror.", key: EntityKey("id", chosenBy: .caller),
            fields: [Field("id", .string(maximumLength: 64), isRequired: true)])
        declaration = AdapterDeclaration(
            name: Self.adapter, title: "HR", summary: "For the simulator.", version: "1",
            access: AccessRights(read: .login, write: .login), entities: [people, notes],
            mirrors: [source])
        collection = CollectionDeclaration(adapter: Self.adapter, entity: people)
        delivery = WriteDelivery(
            of: collection, honoursKeys: source.honoursIdempotencyKeys || sabotage == .forgetting)
        base = MemoryStore(MemoryTables(), epoch: Epoch("writes"), clock: clock)
        lagging = LaggingStore(base, ofRun: plan.seed)
        store = lagging ?? base
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: Self.adapter, entity: $0) }
                + PendingWriteRecords.collections)
        let catalogue = SyncCatalogue([declaration])
        pushes = PushMachine(catalogue: catalogue, epoch: Epoch("writes"), seal: UnkeyedSeal())
        pulls = PullMachine(catalogue: catalogue, epoch: Epoch("writes"), seal: UnkeyedSeal())
        machine = PendingWrites(honoursKeys: source.honoursIdempotencyKeys)
        protection = RefreshProtection(of: Self.mirror)
        self.random = random
    }

    /// The run. The report has the first promise that was broken.
    public func run() async throws -> SimulationReport {
        do {
            for _ in 0..<operations {
                try await mayEnd { try await self.operate() }
                try await check()
            }
            try await settle()
            return report(nil)
        } catch let violation as Violation {
            trace.add("VIOLATION \(violation)")
            return report(violation)
        }
    }

    private func report(_ violation: Violation?) -> SimulationReport {
        SimulationReport(violation: violation, trace: trace.lines, digest: trace.digest, counts: counts)
    }

    // MARK: What happens

    private func operate() async throws {
        clock.advance(to: clock.elapsed + (random.chance(3) ? random.below(900_000) : random.below(5_000)))
        switch random.below(100) {
        case 0..<16: try await changeOverHTTP(isThrough: false)
        case 16..<24: try await changeOverHTTP(isThrough: true)
        case 24..<34: try await push()
        case 34..<66: try await step()
        case 66..<76: try await stepDevice(random.below(devices.count))
        case 76..<83: try await refresh()
        case 83..<88: system.edit(&random)
        case 88..<92: system.deliverLate(&random)
        case 92..<94: throw ProcessEnded()
        case 94..<96: try await abandon()
        case 96..<98: try await decideUnknown()
        default:
            system.behavior = random.chance(50) ? .well : random.pick(SimulatedLedger.Behavior.allCases) ?? .well
            trace.add("the other system is \(system.behavior)")
        }
    }

    /// The process ends where something says so, and another one begins with what is durable.
    private func mayEnd(_ body: () async throws -> Void) async throws {
        do { try await body() } catch is ProcessEnded {
            trace.add("the gateway dies")
            counts.count("deaths")
            try await restart()
        }
        if let violation { throw violation }
    }

    private func point() throws { if hasFaults, random.chance(2) { throw ProcessEnded() } }

    private func restart() async throws {
        base = MemoryStore(try base.image, epoch: Epoch("writes"), clock: clock)
        lagging = LaggingStore(base, ofRun: seed)
        store = lagging ?? base
        loaded = nil
        stored = MirrorState(try await store.withReadSnapshot { try $0.mirrorState(of: Self.mirror) })
        machine = PendingWrites(honoursKeys: source.honoursIdempotencyKeys)
        protection = RefreshProtection(of: Self.mirror)
        underWay = []
        awaited = [:]
        isRefreshing = false
        for write in try await pending() where write.state != .refused {
            guard !take(write, isOfAnotherProcess: true) else { continue }
            // Nothing of it was sent, and its caller got no answer.
            try await store.transact(weight: 2) { try $0.removePendingWrite(write.id) }
        }
    }

    private func take(_ write: PendingWrite, isOfAnotherProcess: Bool) -> Bool {
        guard sabotage != .unordered else {
            machine.add(
                write.id, of: write.id, at: write.position, wasSent: write.wasSent, isUnknown: write.state == .unknown)
            return true
        }
        return machine.take(write, mayHaveBeenSent: write.wasSent, isOfAnotherProcess: isOfAnotherProcess)
    }

    private func pending() async throws -> [PendingWrite] {
        try await store.withReadSnapshot { try $0.pendingWrites(of: Self.mirror, after: 0, limit: Query.maximumLimit) }
    }

    /// What callers have written since. Not looked for where nothing is known to have come.
    private func load() async throws {
        let position = store.position(of: PendingWriteRecords.adapter)
        guard loaded != position else { return }
        loaded = position
        for write in try await pending()
        where write.state != .refused && !write.isThrough && !machine.contains(write.id) {
            guard !underWay.contains(where: { $0.id == write.id }) else { continue }
            _ = take(write, isOfAnotherProcess: false)
        }
    }
}

// MARK: Callers and devices

extension WriteSimulation {
    private struct Proposed: Error {
        let id: RecordID
    }

    /// Keeps what a caller proposes, as the gateway does before it waits.
    private struct Proposing: WriteThrough {
        let store: any MirrorStore

        func write(
            _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
        ) async throws -> WriteReceipt {
            throw Proposed(id: try await store.transact(weight: 3, propose))
        }
    }

    private func change() -> RecordChange {
        made += 1
        let known = Self.records + (system.choosesKeys ? system.rows.keys.sorted() : [])
        let id = RecordID(unchecked: random.pick(known) ?? "p0")
        let fields: WireDictionary = ["id": .string(id.text), "name": .string("v\(made)")]
        switch random.below(10) {
        case 0..<3: return RecordChange("people", .create(id, fields))
        case 3..<6: return RecordChange("people", .update(id, ["name": .string("v\(made)")]))
        case 6: return RecordChange("people", .update(id, ["text": .string("t\(made)")]))
        case 7: return RecordChange("people", .delete(id))
        default: return RecordChange("people", .replace(id, fields, orCreate: true))
        }
    }

    private func changeOverHTTP(isThrough: Bool) async throws {
        let change = change()
        let key = "k\(made)"
        let records = AdapterRecords(
            store: store, declaration: isThrough ? declaration.writtenThrough : declaration, principal: Self.caller,
            origin: WriteOrigin(idempotencyKey: key), through: isThrough ? Proposing(store: store) : nil)
        do {
            _ = try await records.apply([change])
        } catch let proposed as Proposed {
            try await wait(for: proposed.id, key)
            return
        } catch is PorticoError {
            return
        }
        try await acknowledge(key)
    }

    /// A caller waits for the write from now on.
    private func wait(for id: RecordID, _ key: String) async throws {
        guard let write = try await store.withReadSnapshot({ try $0.pendingWrite(id) }) else { return }
        system.acknowledged[key] = (write.record.text, write.position)
        try point()
        awaited[id] = write.position
        machine.add(
            id, of: write.record, by: write.author, at: write.position, isThrough: true, created: write.created)
        trace.add("a caller waits for \(key) of \(write.record)")
        counts.count("changes that callers wait for")
    }

    private func acknowledge(_ key: String, of mutation: Mutation? = nil) async throws {
        let writes = try await pending()
        let joined = mutation.flatMap { mutation in writes.last { $0.hasJoined(mutation, key) } }
        guard let write = writes.first(where: { $0.key == key }) ?? joined else { return }
        acknowledged[key] = Acknowledged(record: write.record.text, position: write.position, write: write.key)
        system.acknowledged[write.key] = (write.record.text, write.position)
        if write.key != key { counts.count("joined") }
        trace.add("\(key) of \(write.record) is acknowledged: \(write.operation.rawValue)")
        counts.count("changes acknowledged")
    }

    /// A device sends a few changes, and sometimes the same ones again.
    private func push() async throws {
        let client = "c\(random.below(2))"
        let first = (sequences[client] ?? 0) + 1
        var mutations: [Mutation] = []
        for sequence in first...(first + Int64(random.below(3))) {
            mutations.append(mutation(sequence))
        }
        let request = PushRequest(clientID: client, mutations: mutations)
        let outcomes = try await perform(request)
        guard outcomes.count == mutations.count, outcomes.allSatisfy({ $0.verdict != .retry }) else {
            throw Violation(5, "changes of \(client) wait for the other system")
        }
        sequences[client] = mutations.last?.sequence
        for (mutation, outcome) in zip(mutations, outcomes) {
            guard mutation.collection == "people" || outcome.verdict == .applied else {
                throw Violation(5, "the note \(mutation.id) is not taken: \(outcome.verdict)")
            }
            if mutation.collection == "people", outcome.verdict == .applied {
                try await acknowledge("\(client):\(mutation.sequence)", of: mutation)
            }
        }
        counts.count("pushes")
        guard random.chance(30) else { return }
        let before = try await pending().count
        let again = try await perform(request)
        guard again.map(\.verdict) == outcomes.map(\.verdict), try await pending().count == before else {
            throw Violation(2, "a push that is repeated is made twice")
        }
    }

    private func mutation(_ sequence: Int64) -> Mutation {
        guard random.chance(70) else {
            notes += 1
            return Mutation(
                sequence: sequence, operation: .create, collection: "notes", id: "n\(notes)", baseRev: nil,
                fields: ["id": .string("n\(notes)")])
        }
        let change = change()
        let id = change.recordID?.text ?? "p0"
        switch change.action {
        case .create(_, let fields), .replace(_, let fields, _):
            return Mutation(
                sequence: sequence, operation: .create, collection: "people", id: id, baseRev: nil, fields: fields)
        case .update(_, let fields):
            return Mutation(
                sequence: sequence, operation: .update, collection: "people", id: id, baseRev: nil, fields: fields)
        case .delete:
            return Mutation(
                sequence: sequence, operation: .delete, collection: "people", id: id, baseRev: nil, fields: nil)
        }
    }

    private func perform(_ request: PushRequest) async throws -> [MutationOutcome] {
        if sabotage == .waiting, system.behavior != .well {
            return request.mutations.map { MutationOutcome(sequence: $0.sequence, verdict: .retry) }
        }
        let pushes = pushes
        let plan = try pushes.plan(request, for: SyncCaller(Self.caller))
        let moved = try await moved(request)
        let outcomes = try await store.transact(weight: request.mutations.count) {
            try pushes.perform(plan, in: $0)
        }.outcomes
        try check(outcomes, of: moved)
        return outcomes
    }

    private static let caller = Principal(kind: .user, id: "1", name: "ann")

    /// The deadline of a caller passes.
    private func abandon() async throws {
        guard let id = random.pick(awaited.sorted { $0.value < $1.value }.map(\.key)) else { return }
        awaited[id] = nil
        guard machine.abandon(id) else { return }
        try await toldNotMade(id)
    }

    private func toldNotMade(_ id: RecordID) async throws {
        if let write = try await store.withReadSnapshot({ try $0.pendingWrite(id) }) {
            system.toldNotMade.insert(write.key)
            trace.add("the caller of \(write.key) is told that it was not made")
        }
        try await store.transact(weight: 2) { try $0.removePendingWrite(id) }
    }

    /// An operator looks at the other system's ledger, and has an unknown write sent again or dropped.
    private func decideUnknown() async throws {
        guard let write = try await pending().first(where: { $0.state == .unknown }) else { return }
        // What is still under way there is waited for.
        system.deliverLate(of: write.record.text)
        if system.applied[write.key] != nil {
            guard machine.drop(write.id) else { return }
            let (delivery, truth) = (delivery, system.read(write.record))
            protection.note(write.record)
            try await store.transact(weight: 3) { try delivery.drop(write, truth: truth, in: $0) }
            awaited[write.id] = nil
            counts.count("dropped")
        } else {
            let delivery = delivery
            try await store.transact(weight: 3) { try delivery.retry(write, in: $0) }
            _ = machine.retry(write.id)
            counts.count("retried")
        }
        trace.add("an operator decides about \(write.key)")
    }
}

// MARK: Replicas

extension WriteSimulation {
    /// One request and its answer, an edit, or one try to begin.
    private func stepDevice(_ number: Int) async throws {
        guard !devices[number].requests.isEmpty else {
            if hasFaults, random.chance(40) { return try editOnDevice(number) }
            let actions = devices[number].isAsleep ? devices[number].machine.wake() : devices[number].machine.sync()
            devices[number].isAsleep = false
            return carryOut(actions, number)
        }
        let isLost = hasFaults && random.chance(10)
        let request = devices[number].requests.removeFirst()
        // It, or its answer, is lost.
        let arrives = !isLost || random.chance(50)
        switch request {
        case .pull(let request, let pull):
            let pulls = pulls
            let page = try await store.withReadSnapshot {
                try pulls.page(pull, for: SyncCaller(Self.caller), at: $0)
            }
            carryOut(devices[number].machine.pulled(request, isLost ? .unavailable : .page(page)), number)
        case .push(let request, let push):
            let outcomes = arrives ? try await performOfDevice(push) : []
            let answer = PushResponse(outcomes: outcomes, checkpoint: "")
            carryOut(devices[number].machine.pushed(request, isLost ? .unavailable : .answer(answer)), number)
        }
    }

    private func performOfDevice(_ push: PushRequest) async throws -> [MutationOutcome] {
        let outcomes = try await perform(push)
        for (mutation, outcome) in zip(push.mutations, outcomes)
        where outcome.verdict == .applied || outcome.verdict == .merged {
            try await acknowledge("\(push.clientID):\(mutation.sequence)", of: mutation)
        }
        return outcomes
    }

    /// Mutations of records that have another id by now.
    private func moved(_ push: PushRequest) async throws -> Set<Int64> {
        var moved: Set<Int64> = []
        for mutation in push.mutations where mutation.operation != .create && mutation.collection == "people" {
            let id = RecordID(unchecked: mutation.id)
            let isMoved = try await store.withReadSnapshot {
                guard let move = try $0.move(of: id, in: Self.mirror) else { return false }
                return try $0.record(id, in: Self.mirror, visible: nil) == nil
                    && $0.record(move.to, in: Self.mirror, visible: nil) != nil
            }
            if isMoved { moved.insert(mutation.sequence) }
        }
        return moved
    }

    /// An edit of an old id is made on the record, unless an earlier one of the same push has removed it.
    private func check(_ outcomes: [MutationOutcome], of moved: Set<Int64>) throws {
        for outcome in outcomes where moved.contains(outcome.sequence) {
            guard outcome.verdict != .rejected else {
                throw Violation(8, "an edit of an old id is refused: \(outcome.reason ?? "")")
            }
            counts.count("edits of old ids")
        }
    }

    private func editOnDevice(_ number: Int) throws {
        made += 1
        let ids = devices[number].machine.state.records(of: "people").map(\.id)
        let edit: LocalEdit
        if random.chance(40) || ids.isEmpty {
            let id = "d\(number).\(made)"
            edit = LocalEdit(RecordKey("people", id), .create(["id": .string(id), "name": .string("v\(made)")]))
        } else {
            let id = random.pick(ids) ?? "p0"
            edit = LocalEdit(
                RecordKey("people", id), random.chance(15) ? .delete : .update(["name": .string("v\(made)")]))
        }
        guard let actions = try? devices[number].machine.edit(edit) else { return }
        trace.add("d\(number) edits \(edit.key.id)")
        counts.count("edits on devices")
        carryOut(actions, number)
    }

    private func carryOut(_ actions: [DeviceAction], _ number: Int) {
        for action in actions {
            switch action {
            case .persist(let entry): if case .pulled = entry { devices[number].machine.rowsAreStored() }
            case .stage: devices[number].machine.pieceIsStaged()
            case .pull(let request, let pull): devices[number].requests.append(.pull(request, pull))
            case .push(let request, let push): devices[number].requests.append(.push(request, push))
            case .wake: devices[number].isAsleep = true
            case .report(.moved(let moves)):
                trace.add("d\(number) hears of \(moves.map { "\($0.key.id) \($0.value)" }.sorted())")
                counts.count("moves that devices hear of")
            case .report: break
            }
        }
    }

    /// Devices send what they have, and have what the gateway has.
    private func settleDevices() async throws {
        for number in devices.indices {
            for _ in 0..<3 {
                try await stepDevice(number)
                for _ in 0..<1_000 where !devices[number].requests.isEmpty || devices[number].isAsleep {
                    try await stepDevice(number)
                }
            }
            guard devices[number].machine.state.outbox.pending.isEmpty else {
                throw Violation(7, "d\(number) still has changes to send")
            }
        }
    }

    private func checkDevices() async throws {
        let page = try await store.query(Query(limit: 1_000), in: Self.mirror)
        let rows = Dictionary(page.records.map { ($0.id.text, $0.revision.number) }, uniquingKeysWith: { $1 })
        for number in devices.indices where devices[number].rows != rows {
            throw Violation(7, "d\(number) has not what the gateway has")
        }
    }
}

// MARK: Sending

extension WriteSimulation {
    /// One step of one write, as `MirrorWrites` makes it.
    private func step() async throws {
        try await load()
        if underWay.isEmpty || random.chance(40) {
            switch machine.next(at: clock.now()) {
            case .send(let id): underWay.append(.begin(id))
            case .readBack(let id): underWay.append(.lookFor(id))
            case .wait: break
            }
        }
        guard !underWay.isEmpty else { return }
        let index = random.below(underWay.count)
        let current = underWay.remove(at: index)
        try point()
        if let next = try await advance(current) { underWay.append(next) }
        try point()
    }

    private func advance(_ current: UnderWay) async throws -> UnderWay? {
        let (delivery, now, chance) = (delivery, clock.now(), Double(random.below(100)) / 100)
        switch current {
        case .begin(let id):
            let write = try await store.transact(weight: 1) { try delivery.begin(id, in: $0) }
            guard let write else {
                _ = machine.noteSent(id, .made, at: now, random: chance)
                return nil
            }
            if sabotage == .forgetfulness { try await store.transact(weight: 1) { try $0.removePendingWrite(id) } }
            return .send(write)
        case .send(let write):
            var change = write.sentChange(mayRepeat: source.honoursIdempotencyKeys)
            if sabotage == .newKeys { change = change.renamed("\(write.key)/\(system.received)") }
            var result = system.receive(change, of: write.key, &random)
            if sabotage == .optimism, case .unknown = result { result = .stored(nil) }
            trace.add("\(write.key) is sent: \(result)")
            if let broken = system.violation { throw broken }
            return .finish(write, result)
        case .finish(let write, let result): return try await finish(write, result, now, chance)
        case .refuse(let write, let code, let isAwaited, let truth):
            protection.note(write.record)
            try await store.transact(weight: 3) {
                try delivery.refuse(write, code, "refused", isAwaited: isAwaited, truth: truth, in: $0)
            }
            if isAwaited { system.toldNotMade.insert(write.key) }
            _ = machine.noteSent(write.id, .refused, at: now, random: chance)
            counts.count("refused")
            return nil
        case .lookFor(let id):
            guard let write = try await store.withReadSnapshot({ try $0.pendingWrite(id) }) else {
                _ = machine.readBack(id, isMade: true, at: now, random: chance)
                return nil
            }
            counts.count("looked for")
            return .decide(write, system.read(write.record))
        case .decide(let write, let record): return try await decide(write, record, now, chance)
        }
    }

    private func finish(
        _ write: PendingWrite, _ result: MirrorWriteResult, _ now: WireDate, _ chance: Double
    ) async throws -> UnderWay? {
        let delivery = delivery
        switch result {
        case .stored(let fields):
            let id = fields.flatMap { delivery.newID(in: $0, of: write) }
            if let id, try await !store.withReadSnapshot({ try delivery.mayTake(id, write, in: $0) }) {
                return try await finish(write, .unknown("the record is another one"), now, chance)
            }
            if sabotage != .unsettled { protection.note(write.record) }
            if let id {
                protection.note(id)
                machine.move(write.record, to: id)
                counts.count("keys taken")
                trace.add("\(write.record) is \(id) from now on")
            }
            _ = try await store.transact(weight: 3) { try delivery.complete(write, stored: fields, in: $0) }
            machine.noteMoved(write.record)
            _ = machine.noteSent(write.id, .made, at: now, random: chance)
            madeMeanwhile.insert(id ?? write.record)
            if awaited.removeValue(forKey: write.id) != nil {
                // Its caller has the answer.
                acknowledged[write.key] = Acknowledged(
                    record: write.record.text, position: write.position, write: write.key)
            }
            counts.count("made")
        case .refused(let code, _):
            let isAwaited = awaited.removeValue(forKey: write.id) != nil
            return .refuse(write, code, isAwaited: isAwaited, isAwaited ? .unavailable : system.read(write.record))
        case .notMade(let detail):
            try await store.transact(weight: 2) { try delivery.requeue(write, detail, "not yet", in: $0) }
            let isAwaited = awaited[write.id] != nil
            switch machine.noteSent(write.id, .notMade, isAwaited: isAwaited, at: now, random: chance) {
            case .giveUp:
                awaited[write.id] = nil
                try await toldNotMade(write.id)
            case .staysUnknown: try await stayUnknown(write)
            default: break
            }
        case .unknown(let detail):
            counts.count("lost")
            try await store.transact(weight: 1) { try delivery.markLost(write, detail, in: $0) }
            if machine.noteSent(write.id, .unknown, at: now, random: chance) == .staysUnknown {
                try await stayUnknown(write)
            }
        }
        return nil
    }

    private func stayUnknown(_ write: PendingWrite) async throws {
        let delivery = delivery
        try await store.transact(weight: 1) { try delivery.markUnknown(write.id, "unknown", in: $0) }
        awaited[write.id] = nil
        counts.count("unknown")
    }

    private func decide(
        _ write: PendingWrite, _ record: MirrorRecord, _ now: WireDate, _ chance: Double
    ) async throws -> UnderWay? {
        let delivery = delivery
        guard write.change(mayRepeat: false).isMade(in: record) else {
            if machine.readBack(write.id, isMade: false, at: now, random: chance) == .staysUnknown {
                try await stayUnknown(write)
            }
            return nil
        }
        var fields: WireDictionary?
        if case .found(let found) = record { fields = found }
        protection.note(write.record)
        let stored = fields
        _ = try await store.transact(weight: 3) { try delivery.complete(write, stored: stored, in: $0) }
        _ = machine.readBack(write.id, isMade: true, at: now, random: chance)
        awaited[write.id] = nil
        asWanted.insert(write.key)
        counts.count("found")
        return nil
    }
}

// MARK: Refreshes

extension WriteSimulation {
    private func refresh() async throws {
        guard !isRefreshing else { return }
        isRefreshing = true
        defer { isRefreshing = false }
        (madeMeanwhile, rowsMeanwhile) = ([], [:])
        let store = store
        let unprotected = RefreshProtection(of: CollectionID(Self.adapter, "notes"))
        let refresh = MirrorRefresh(
            collection: collection, source: source,
            beginReplacement: { _ in try await store.beginReplacement(of: Self.mirror) },
            read: { [self] _ in try await page() }, clock: clock,
            protection: sabotage == .unprotected ? unprotected : protection)
        do {
            if case .done(_, let state) = try await refresh.run(since: stored) { stored = state }
            for (id, fields) in rowsMeanwhile.sorted(by: { $0.key.text < $1.key.text }) {
                guard try await store.record(id, in: Self.mirror, visible: nil)?.fields == fields else {
                    throw Violation(6, "\(id) is as it was before a change that was made while the refresh read")
                }
            }
            counts.count("refreshes")
        } catch let ended as ProcessEnded {
            throw ended
        } catch let found as Violation {
            violation = found
            throw found
        } catch is PorticoError {
            counts.count("failed refreshes")
        }
    }

    /// All rows; other things happen before they come.
    private func page() async throws -> MirrorPage {
        let rows = system.rows.sorted { $0.key < $1.key }.map(\.value)
        for _ in 0..<(hasFaults ? random.below(6) : 0) {
            switch random.below(4) {
            case 0: try await changeOverHTTP(isThrough: random.chance(30))
            case 1: try await push()
            default: try await step()
            }
            try await check()
        }
        guard system.behavior == .well else { throw PorticoError(.upstreamFailed, "The system hr could not be asked.") }
        for id in madeMeanwhile {
            rowsMeanwhile[id] = .some(try await store.record(id, in: Self.mirror, visible: nil)?.fields)
        }
        return MirrorPage(rows)
    }
}

// MARK: The promises

extension WriteSimulation {
    private func check() async throws {
        let writes = try await pending()
        let known = Dictionary(writes.map { ($0.key, $0.state) }, uniquingKeysWith: { first, _ in first })
        for (key, change) in acknowledged.sorted(by: { $0.key < $1.key })
        where known[change.write] == nil && system.applied[change.write] == nil
            && !system.refused.contains(change.write) && !asWanted.contains(change.write)
        {
            throw Violation(1, "\(key) of \(change.record) is lost")
        }
        for (key, count) in system.applied.sorted(by: { $0.key < $1.key }) {
            guard count == 1 else { throw Violation(2, "\(key) is made \(count) times") }
            guard !system.toldNotMade.contains(key) else {
                throw Violation(2, "\(key) is made, and its caller was told that it was not")
            }
        }
        try await checkRecords(writes)
    }

    /// Each record has what its last pending change made of it.
    private func checkRecords(_ writes: [PendingWrite]) async throws {
        var last: [RecordID: PendingWrite] = [:]
        for write in writes where write.state == .pending && !write.isThrough { last[write.record] = write }
        for (id, write) in last.sorted(by: { $0.key.text < $1.key.text }) {
            let record = try await store.record(id, in: Self.mirror, visible: nil)
            let isKept =
                switch write.operation {
                case .delete: record == nil
                // What it was to change is gone.
                case .update where record == nil: true
                case .create, .update, .replace:
                    write.fields.allSatisfy { $0.value.meansTheSame(as: record?.fields[$0.key] ?? .null) }
                }
            guard isKept else { throw Violation(6, "\(id) is not as its pending change \(write.key) has it") }
        }
    }

    /// The faults stop, and operators decide: all have to agree soon.
    private func settle() async throws {
        hasFaults = false
        system.behavior = .well
        system.deliverLate(of: nil)
        trace.add("the faults stop")
        // What devices have left is made too, and then they hear what became of it.
        for _ in 0..<2 {
            try await settleWrites()
            try await refresh()
            if let violation { throw violation }
            try await settleDevices()
        }
        try await settleWrites()
        try await refresh()
        if let violation { throw violation }
        try await settleDevices()
        try await checkDevices()
        let page = try await store.query(Query(order: [SortKey("id")], limit: 1_000), in: Self.mirror)
        let rows = Dictionary(page.records.map { ($0.id.text, $0.fields) }, uniquingKeysWith: { $1 })
        for id in Set(rows.keys).union(system.rows.keys).sorted() {
            let (here, there) = (rows[id], system.rows[id])
            guard here?["name"] == there?["name"], here?["text"] ?? .null == there?["text"] ?? .null else {
                throw Violation(7, "\(id) is not as the other system has it")
            }
        }
    }

    private func settleWrites() async throws {
        for _ in 0..<2_000 {
            clock.advance(to: clock.elapsed + 10_000)
            lagging?.catchUp()
            try await mayEnd { try await self.step() }
            try await check()
            if try await pending().contains(where: { $0.state == .unknown }) { try await decideUnknown() }
            if try await pending().allSatisfy({ $0.state == .refused }), underWay.isEmpty { break }
        }
        let left = try await pending().filter { $0.state != .refused }
        guard left.isEmpty else { throw Violation(7, "\(left.map(\.key)) are not sent") }
    }
}

extension AdapterDeclaration {
    /// The same, but callers wait for their changes.
    fileprivate var writtenThrough: AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: title, summary: summary, version: version, access: access, entities: entities,
            mirrors: mirrors.map {
                MirrorSource(
                    $0.entity, of: $0.upstream, writing: .through, honoursIdempotencyKeys: $0.honoursIdempotencyKeys,
                    settings: $0.settings)
            })
    }
}

extension PendingWrite {
    /// Whether a device's update, whose key is `key`, is in this write, which has the key of an earlier one.
    fileprivate func hasJoined(_ update: Mutation, _ key: String) -> Bool {
        guard update.operation == .update, operation == .update, record.text == update.id, let mutation,
            mutation.sequence >= update.sequence, key == "\(mutation.client):\(update.sequence)",
            let first = self.key.split(separator: ":").last.flatMap({ Int64($0) })
        else { return false }
        return first < update.sequence
    }
}

extension MirrorChange {
    fileprivate func renamed(_ key: String) -> MirrorChange {
        MirrorChange(entity, id, operation, fields: fields, before: before, idempotencyKey: key, mayRepeat: mayRepeat)
    }
}
