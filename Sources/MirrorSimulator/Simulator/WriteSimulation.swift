import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
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
///    has the record as the change wants it (a delete of what never came to be).
/// 2. None is made twice. What a caller was answered as not made is not made.
/// 3. Changes of one record are made in the order in which they were acknowledged.
/// 4. Where the other system honours no keys, a change whose outcome was lost is made, or stays unknown until an operator
///    decides.
/// 5. Devices' changes are acknowledged at once, whatever the other system does.
/// 6. A refresh leaves a record with a pending change as that change has it, and one of which a change was made while it
///    read as that made it.
/// 7. When the faults stop and operators have decided, the gateway has what the other system has.
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

    // What ends with the process.
    private var store: MemoryStore
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

    /// A change that was answered with success, by its key.
    private struct Acknowledged {
        let record: String
        let position: Int64
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
        system = SimulatedLedger(honoursKeys: honoursKeys)
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
        store = MemoryStore(MemoryTables(), epoch: Epoch("writes"), clock: clock)
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: Self.adapter, entity: $0) }
                + PendingWriteRecords.collections)
        pushes = PushMachine(
            catalogue: SyncCatalogue([declaration]), epoch: Epoch("writes"), seal: UnkeyedSeal())
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
        case 34..<76: try await step()
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
        store = MemoryStore(try store.image, epoch: Epoch("writes"), clock: clock)
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

    /// What callers have written since.
    private func load() async throws {
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
        let store: MemoryStore

        func write(
            _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
        ) async throws -> WriteReceipt {
            throw Proposed(id: try await store.transact(weight: 3, propose))
        }
    }

    private func change() -> RecordChange {
        made += 1
        let id = RecordID(unchecked: random.pick(Self.records) ?? "p0")
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
        system.position[key] = write.position
        try point()
        awaited[id] = write.position
        machine.add(id, of: write.record, at: write.position, isThrough: true)
        trace.add("a caller waits for \(key) of \(write.record)")
        counts.count("changes that callers wait for")
    }

    private func acknowledge(_ key: String) async throws {
        guard let write = try await pending().first(where: { $0.key == key }) else { return }
        acknowledged[key] = Acknowledged(record: write.record.text, position: write.position)
        system.position[key] = write.position
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
                try await acknowledge("\(client):\(mutation.sequence)")
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
        return try await store.transact(weight: request.mutations.count) { try pushes.perform(plan, in: $0) }.outcomes
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
            try await store.transact(weight: 3) { try delivery.dropped(write, truth: truth, in: $0) }
            awaited[write.id] = nil
            counts.count("dropped")
        } else {
            let delivery = delivery
            try await store.transact(weight: 3) { try delivery.retried(write, in: $0) }
            _ = machine.retry(write.id)
            counts.count("retried")
        }
        trace.add("an operator decides about \(write.key)")
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
                _ = machine.sent(id, .made, at: now, random: chance)
                return nil
            }
            if sabotage == .forgetfulness { try await store.transact(weight: 1) { try $0.removePendingWrite(id) } }
            return .send(write)
        case .send(let write):
            var change = write.change(mayRepeat: source.honoursIdempotencyKeys)
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
                try delivery.refused(write, code, "refused", isAwaited: isAwaited, truth: truth, in: $0)
            }
            if isAwaited { system.toldNotMade.insert(write.key) }
            _ = machine.sent(write.id, .refused, at: now, random: chance)
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
            if sabotage != .unsettled { protection.note(write.record) }
            _ = try await store.transact(weight: 3) { try delivery.made(write, stored: fields, in: $0) }
            _ = machine.sent(write.id, .made, at: now, random: chance)
            madeMeanwhile.insert(write.record)
            if awaited.removeValue(forKey: write.id) != nil {
                // Its caller has the answer.
                acknowledged[write.key] = Acknowledged(record: write.record.text, position: write.position)
            }
            counts.count("made")
        case .refused(let code, _):
            let isAwaited = awaited.removeValue(forKey: write.id) != nil
            return .refuse(write, code, isAwaited: isAwaited, isAwaited ? .unavailable : system.read(write.record))
        case .notMade:
            try await store.transact(weight: 1) { try delivery.notMade(write.id, in: $0) }
            let isAwaited = awaited[write.id] != nil
            if machine.sent(write.id, .notMade, isAwaited: isAwaited, at: now, random: chance) == .giveUp {
                awaited[write.id] = nil
                try await toldNotMade(write.id)
            }
        case .unknown:
            counts.count("lost")
            _ = machine.sent(write.id, .unknown, at: now, random: chance)
        }
        return nil
    }

    private func decide(
        _ write: PendingWrite, _ record: MirrorRecord, _ now: WireDate, _ chance: Double
    ) async throws -> UnderWay? {
        let delivery = delivery
        guard write.change(mayRepeat: false).isMade(in: record) else {
            if machine.readBack(write.id, isMade: false, at: now, random: chance) == .staysUnknown {
                try await store.transact(weight: 1) { try delivery.staysUnknown(write.id, "unknown", in: $0) }
                awaited[write.id] = nil
                counts.count("unknown")
            }
            return nil
        }
        var fields: WireDictionary?
        if case .found(let found) = record { fields = found }
        protection.note(write.record)
        let stored = fields
        _ = try await store.transact(weight: 3) { try delivery.made(write, stored: stored, in: $0) }
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
        where known[key] == nil && system.applied[key] == nil && !system.refused.contains(key)
            && !asWanted.contains(key)
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
        for _ in 0..<2_000 {
            clock.advance(to: clock.elapsed + 10_000)
            try await mayEnd { try await self.step() }
            try await check()
            if try await pending().contains(where: { $0.state == .unknown }) { try await decideUnknown() }
            if try await pending().allSatisfy({ $0.state == .refused }), underWay.isEmpty { break }
        }
        let left = try await pending().filter { $0.state != .refused }
        guard left.isEmpty else { throw Violation(7, "\(left.map(\.key)) are not sent") }
        try await refresh()
        if let violation { throw violation }
        let page = try await store.query(Query(order: [SortKey("id")], limit: 1_000), in: Self.mirror)
        let rows = Dictionary(page.records.map { ($0.id.text, $0.fields) }, uniquingKeysWith: { $1 })
        for id in Set(rows.keys).union(system.rows.keys).sorted() {
            let (here, there) = (rows[id], system.rows[id])
            guard here?["name"] == there?["name"], here?["text"] ?? .null == there?["text"] ?? .null else {
                throw Violation(7, "\(id) is not as the other system has it")
            }
        }
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

extension MirrorChange {
    fileprivate func renamed(_ key: String) -> MirrorChange {
        MirrorChange(entity, id, operation, fields: fields, before: before, idempotencyKey: key, mayRepeat: mayRepeat)
    }
}
