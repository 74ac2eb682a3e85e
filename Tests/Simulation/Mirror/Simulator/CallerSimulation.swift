import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import SyncEngine
import SyncMessages
import SyncSimulator

/// What a run of rows of callers breaks on purpose, to show that it would be noticed: each switches off one guard.
public enum CallerSabotage: String, Sendable, CaseIterable {
    /// The read rule does not ask whose row it is.
    case ownership
    /// What is fetched in one caller's name is stored for another who waits.
    case sharedFetch = "shared-fetch"
    /// Rows stay when the sign-in ends.
    case keeping
    /// Rows that come after their sign-in has ended stay.
    case lateness
    /// Rows stay when the other system refuses the caller.
    case refusal
    /// What a process left stays.
    case inheritance
}

/// One run: another system that answers each caller's own rows, a gateway that keeps them, sign-ins that come and go, and
/// devices. The promises are checked after each step.
///
/// 1. No caller reads, counts or syncs a row that was not fetched in the caller's own name.
/// 2. A caller's rows are those of one state that the other system answered to this caller.
/// 3. A caller without a sign-in that has rows has none, once what has ended is cleared away.
/// 4. A device has what its person may see when its pull is complete.
public actor CallerSimulation {
    private static let adapter: AdapterName = "hr"
    private static let mirror = CollectionID(adapter, "people")
    private static let people = ["ann", "bob", "cal"]

    private let operations: Int
    private let sabotage: CallerSabotage?
    private var random: SeededRandom
    private let clock = VirtualClock()
    private var trace: Trace
    private var counts = SimulationCounts()
    private let declaration: AdapterDeclaration
    private let collection: CollectionDeclaration
    private let key: FieldName
    private let pulls: PullMachine

    // What ends with the process.
    private var store: MemoryStore
    private var cache: AnswerCache<String>
    private var signInsWithRows: [String: Set<String>] = [:]
    private var fetches: [Fetch] = []
    private var waiters: UInt64 = 0

    // What does not.
    private var rows: [String: [String: String]] = [:]
    private var refusesCaller: Set<String> = []
    private var isDown = false
    /// Every state that was answered, by caller.
    private var answered: [String: [[String: String]]] = [:]
    private var signIns: [String: [String]] = [:]
    private var made = 0
    private var devices: [String: (checkpoint: String?, rows: [String: String])] = [:]

    private struct Fetch {
        enum Stage {
            case asking
            case storing([String: String])
            case ended(AnswerCache<String>.Outcome)
        }

        let person: String
        let signIn: String
        var stage = Stage.asking
    }

    /// `plan.sabotage` is ignored.
    public init(_ plan: MirrorSimulationPlan, sabotage: CallerSabotage? = nil) async throws {
        operations = plan.operations
        self.sabotage = sabotage
        random = SeededRandom(seed: plan.seed)
        trace = Trace(isKept: plan.keepsTrace)
        let people = Entity(
            "people", summary: "A mirror.", key: EntityKey("id", chosenBy: .caller),
            fields: [
                Field("id", .string(maximumLength: 64), isRequired: true),
                Field("name", .string(maximumLength: 64), isRequired: true),
            ])
        let source = MirrorSource(
            "people", of: "hr", supportsRowsOfCallers: true,
            settings: MirrorSettings(freshFor: .seconds(60), callers: .init(count: 4, rows: 100)))
        let kept = try AdapterDeclaration(
            name: Self.adapter, title: "HR", summary: "For the simulator.", version: "1", entities: [people],
            mirrors: [source]
        ).keepingRowsOfCallers(of: ["hr"])
        declaration = sabotage == .ownership ? kept.readByEveryone : kept
        collection = CollectionDeclaration(adapter: Self.adapter, entity: declaration.entities[0])
        key = "id"
        cache = AnswerCache(CallThrough(to: "hr", freshFor: .seconds(60), keptAnswers: 4, keptBytes: .max))
        store = MemoryStore(MemoryTables(), epoch: Epoch("callers"), clock: clock)
        pulls = PullMachine(
            catalogue: SyncCatalogue([declaration]), epoch: Epoch("callers"), seal: UnkeyedSeal(),
            limits: PullLimits())
        try await store.install([collection])
        for person in Self.people { rows[person] = [:] }
    }

    /// The run. The report has the first promise that was broken.
    public func run() async throws -> SimulationReport {
        do {
            for _ in 0..<operations {
                try await operate()
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

    private var stored: CallerRows { CallerRows(collection: collection, key: key, store: store) }

    // MARK: What happens

    private func operate() async throws {
        clock.advance(to: clock.elapsed + random.below(20_000))
        let person = random.pick(Self.people) ?? "ann"
        switch random.below(100) {
        case 0..<15: edit(person)
        case 15..<25: signIn(person)
        case 25..<32: signOut(person)
        case 32..<55: ask(person)
        case 55..<78: try await step()
        case 78..<84: try await clearAway()
        case 84..<93: try await pull(person)
        case 93..<95:
            if refusesCaller.remove(person) == nil { refusesCaller.insert(person) }
        case 95..<97: isDown.toggle()
        default: try await die()
        }
    }

    /// The keys are the same for all, so that a row that is taken for another's would be.
    private func edit(_ person: String) {
        made += 1
        let id = "p\(random.below(12))"
        rows[person]?[id] = random.chance(30) ? nil : "\(person) \(made)"
    }

    private func signIn(_ person: String) {
        made += 1
        guard signIns[person, default: []].count < 2 else { return }
        signIns[person, default: []].append("\(person)/\(made)")
        counts.count("sign-ins")
    }

    private func signOut(_ person: String) {
        guard let ended = random.pick(signIns[person] ?? []) else { return }
        signIns[person]?.removeAll { $0 == ended }
        cache.forget(ended)
        trace.add("\(ended) ends")
        counts.count("sign-outs")
        if fetches.contains(where: { $0.signIn == ended }) { counts.count("sign-outs while rows are fetched") }
    }

    private func ask(_ person: String) {
        guard let signIn = random.pick(signIns[person] ?? []) else { return }
        waiters += 1
        guard case .wait(begins: true) = cache.ask(question(signIn), waiters, at: clock.now()) else { return }
        fetches.append(Fetch(person: person, signIn: signIn))
        counts.count("fetches")
    }

    private func question(_ signIn: String) -> AnswerCache<String>.Key {
        AnswerCache<String>.Key("people", input: [], owner: signIn)
    }

    /// One step of one fetch, as `CallerMirror` makes it.
    private func step() async throws {
        guard !fetches.isEmpty else { return }
        let index = random.below(fetches.count)
        var fetch = fetches.remove(at: index)
        switch fetch.stage {
        case .asking where isDown: fetch.stage = .ended(.failed(detail: "upstream-failed"))
        case .asking where refusesCaller.contains(fetch.person):
            fetch.stage = .ended(sabotage == .refusal ? .failed(detail: "upstream-failed") : .denied)
            counts.count("refused")
        case .asking:
            let answer = rows[fetch.person] ?? [:]
            answered[fetch.person, default: []].append(answer)
            fetch.stage = .storing(answer)
        case .storing(let answer):
            // One fetch for all callers who wait at once.
            let waiting = sabotage == .sharedFetch ? fetches.first { $0.person != fetch.person }?.person : nil
            let person = waiting ?? fetch.person
            var snapshot = try CallerRows.Snapshot(
                stored, of: owner(person), limits: .init(count: 4, rows: 100), at: clock.now())
            try snapshot.add(
                answer.sorted { $0.key < $1.key }.map { ["id": .string($0.key), "name": .string($0.value)] })
            if sabotage != .lateness || signIns[fetch.person]?.contains(fetch.signIn) ?? false {
                signInsWithRows[person, default: []].insert(fetch.signIn)
            }
            try await stored.store(snapshot)
            trace.add("rows of \(person) are stored: \(answer.count)")
            fetch.stage = .ended(.answered("", bytes: 0))
        case .ended(let outcome):
            _ = cache.end(question(fetch.signIn), outcome, at: clock.now())
            return
        }
        fetches.append(fetch)
    }

    private func isHeld(_ person: String) -> Bool { signInsWithRows[person]?.contains { cache.holds($0) } ?? false }

    /// Removes the rows that no sign-in has, as `CallerMirror` does.
    private func clearAway() async throws {
        guard sabotage != .keeping else { return }
        for person in signInsWithRows.keys.sorted() where !isHeld(person) {
            while try await stored.remove(owner(person), atMost: 2, unless: { false }) {}
            signInsWithRows[person] = nil
            counts.count("cleared away")
        }
    }

    private func die() async throws {
        trace.add("the gateway dies")
        counts.count("deaths")
        store = MemoryStore(try store.image, epoch: Epoch("callers"), clock: clock)
        cache = AnswerCache(CallThrough(to: "hr", freshFor: .seconds(60), keptAnswers: 4, keptBytes: .max))
        signInsWithRows = [:]
        fetches = []
        if sabotage != .inheritance { try await stored.removeAll() }
    }

    private func owner(_ person: String) -> RowOwner { RowOwner(principal(person)) }

    private func principal(_ person: String) -> Principal { Principal(kind: .user, id: "id-\(person)", name: person) }

    /// A device pulls until it is complete.
    private func pull(_ person: String) async throws {
        guard !(signIns[person] ?? []).isEmpty else { return }
        let (pulls, caller) = (pulls, SyncCaller(principal(person)))
        var device = devices[person] ?? (nil, [:])
        var checkpoint = device.checkpoint
        for _ in 0..<100 {
            let request = PullRequest(checkpoint: checkpoint, collections: ["people"])
            let page = try await store.withReadSnapshot { try pulls.page(request, for: caller, at: $0) }
            if !page.reset.isEmpty { device.rows = [:] }
            for operation in page.operations {
                switch operation.kind {
                case .put(let fields):
                    let name = fields.tree["name"]?.stringValue ?? ""
                    guard name.hasPrefix(person) else { throw Violation(1, "\(person) is sent `\(name)`") }
                    device.rows[operation.id] = name
                default: device.rows[operation.id] = nil
                }
            }
            switch page.ending {
            case .next(let next): checkpoint = next
            case .complete(let completion):
                device.checkpoint = completion.checkpoint
                devices[person] = device
                counts.count("pulled")
                let visible = try await visible(to: person)
                guard Set(device.rows.values) == Set(visible.values) else {
                    throw Violation(4, "the device of \(person) has not what \(person) may see")
                }
                return
            }
        }
    }

    // MARK: The promises

    private func visible(to person: String) async throws -> [String: String] {
        let records = AdapterRecords(store: store, declaration: declaration, principal: principal(person))
        let page = try await records.query(Query(order: [SortKey(key)], limit: 1_000), in: "people")
        guard try await records.count(nil, in: "people") == page.records.count else {
            throw Violation(1, "\(person) counts other rows than there are to be read")
        }
        return Dictionary(
            page.records.map { ($0[key].stringValue ?? "", $0["name"].stringValue ?? "") }, uniquingKeysWith: { $1 })
    }

    private func check() async throws {
        for person in Self.people {
            let visible = try await visible(to: person)
            if let foreign = visible.values.sorted().first(where: { !$0.hasPrefix(person) }) {
                throw Violation(1, "\(person) reads `\(foreign)`")
            }
            guard visible.isEmpty || answered[person]?.contains(visible) ?? false else {
                throw Violation(2, "\(person) reads rows of no state that was answered")
            }
        }
        let anonymous = AdapterRecords(store: store, declaration: declaration, principal: .anonymous)
        guard try await anonymous.count(nil, in: "people") == 0 else {
            throw Violation(1, "an anonymous caller counts rows")
        }
    }

    /// What has ended is cleared away: only callers with a sign-in that has rows have any.
    private func settle() async throws {
        for _ in 0..<1_000 where !fetches.isEmpty { try await step() }
        try await clearAway()
        try await check()
        for person in Self.people {
            let holding = signIns[person]?.contains { cache.holds($0) } ?? false
            let isEmpty = try await visible(to: person).isEmpty
            guard holding || isEmpty else {
                throw Violation(3, "\(person) has rows and no sign-in that has")
            }
        }
        for person in Self.people {
            // A caller who is refused has no rows once that is known.
            guard refusesCaller.contains(person), let signIn = signIns[person]?.first else { continue }
            isDown = false
            clock.advance(to: clock.elapsed + 120_000)
            for other in signIns[person] ?? [] where other != signIn { cache.forget(other) }
            waiters += 1
            if case .wait(begins: true) = cache.ask(question(signIn), waiters, at: clock.now()) {
                fetches.append(Fetch(person: person, signIn: signIn))
            }
            for _ in 0..<10 where !fetches.isEmpty { try await step() }
            try await clearAway()
            guard try await visible(to: person).isEmpty else { throw Violation(3, "\(person) is refused and has rows") }
        }
    }
}

extension AdapterDeclaration {
    fileprivate var readByEveryone: AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: title, summary: summary, version: version,
            entities: entities.map {
                Entity($0.name, summary: $0.summary, key: $0.key, fields: $0.fields, indexes: $0.indexes)
            }, mirrors: mirrors)
    }
}
