import AdapterKit
import MemoryStore
import MirrorEngine
import RecordStorage
import SyncDevice
import SyncMessages
import SyncSimulator

/// What a run breaks on purpose, to show that it would be noticed: each switches off one guard.
public enum MirrorSabotage: String, Sendable, CaseIterable {
    /// A refresh that would delete or change more than the share takes effect.
    case share
    /// A page for people is taken for an empty list.
    case loginPage = "login-page"
    /// A list that has fewer rows than it says is taken for whole.
    case truncation
    /// What a refresh has gathered takes effect when it breaks off.
    case atomicity
    /// The source gives every row a value that differs each time.
    case volatile
    /// The cursor is durable before the rows are.
    case stateFirst = "state-first"
    /// Rows are served whatever their age.
    case staleness
    /// Rows are as old as the end of their refresh, not as its beginning.
    case asOf = "as-of"
    /// Every caller may read every row.
    case rowRules = "row-rules"
    /// Callers may change the mirror as any other collection.
    case writers
}

/// What a run does.
public struct MirrorSimulationPlan: Sendable {
    public let seed: UInt64
    public let operations: Int
    public let sabotage: MirrorSabotage?
    /// Whether every event is written down.
    public let keepsTrace: Bool

    public init(seed: UInt64, operations: Int, sabotage: MirrorSabotage? = nil, keepsTrace: Bool = false) {
        self.seed = seed
        self.operations = operations
        self.sabotage = sabotage
        self.keepsTrace = keepsTrace
    }
}

/// One run: another system, a gateway with a mirror of it, and devices, at the mercy of one seed. The promises are checked
/// after each step and between the pages of a refresh; at the end the faults stop, and all have to agree.
///
/// 1. Records are those of one state that the other system answered: all of a refresh or nothing.
/// 2. No refresh changes or deletes more than the guard's share, unless an operator releases it.
/// 3. A refresh writes what changed and nothing else.
/// 4. Rows are served up to their age, never beyond it, and are as new as is said of them.
/// 5. No device has a row that its person may not see.
/// 6. A device's rows are those of one state of the gateway.
/// 7. Records of other collections are left alone. They are written, and devices' changes of them made at once, while a
///    refresh goes on and while the other system fails. What a device changes in the mirror is refused for good.
/// 8. When the faults stop, gateway and devices come to have what the other system has.
public actor MirrorSimulation {
    /// More changes than these take effect with one log entry; small, so that both ways are taken.
    static let transactionLimit = 12

    private let plan: MirrorSimulationPlan
    private var random: SeededRandom
    private let clock = VirtualClock()
    private var trace: Trace
    private var counts = SimulationCounts()
    private var upstream: SimulatedUpstream
    private var host: SimulatedHost
    private var devices: [SimulatedMirrorDevice] = []
    private let pageSize: Int
    private let settings: MirrorSettings

    /// What the mirror has to have.
    private var expected: [String: WireDictionary] = [:]
    /// The version of the other system that it is.
    private var expectedVersion: Int?
    /// A lie that no guard can find was taken, and what followed builds on it: a list with fewer rows, below the share.
    private var buildsOnLie = false
    /// The notes that were acknowledged.
    private var notes: Set<String> = []
    private var hasFaults = true
    /// The answers of the refresh that goes on, or that is released.
    private var serving: SimulatedUpstream.Serving?
    private var heldServing: SimulatedUpstream.Serving?
    private var isReleasing = false
    private var isRefreshing = false
    /// A promise that was broken where no error can be thrown.
    private var violation: Violation?
    /// The rows that belong to each checkpoint, by person.
    private var rowsOfCheckpoints: [String: [String: Int64]] = [:]

    public init(_ plan: MirrorSimulationPlan) async throws {
        self.plan = plan
        var random = SeededRandom(seed: plan.seed)
        trace = Trace(isKept: plan.keepsTrace)
        upstream = SimulatedUpstream(&random, rows: random.below(60))
        pageSize = 1 + random.below(20)
        var settings = MirrorSettings(
            freshFor: .seconds(60), staleFor: .seconds(6 * 3_600), waitFor: .seconds(2),
            refresh: random.chance(50) ? .seconds(900) : nil)
        if plan.sabotage == .share { settings.guard.from = .max }
        self.settings = settings
        host = try await SimulatedHost(
            reading: random.chance(50) ? .increments : .snapshot, settings: settings,
            sabotage: plan.sabotage, clock: clock, seed: plan.seed, random: 0.5)
        for number in 0..<3 {
            devices.append(
                SimulatedMirrorDevice(
                    number, person: SimulatedUpstream.people[number], pageOperations: 1 + random.below(8)))
        }
        self.random = random
    }

    /// The run. The report has the first promise that was broken.
    public func run() async throws -> SimulationReport {
        do {
            for _ in 0..<plan.operations {
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

    // MARK: What happens

    private func operate() async throws {
        pass(random.chance(3) ? random.below(10 * 3_600_000) : random.below(120_000))
        switch random.below(100) {
        case 0..<22: editUpstream()
        case 22..<57: try await step(random.below(devices.count))
        case 57..<72: try await read()
        case 72..<85: try await refreshIfDue()
        case 85..<90:
            upstream.behavior = random.chance(40) ? .well : random.pick(SimulatedUpstream.Behavior.allCases) ?? .well
            trace.add("the other system is \(upstream.behavior)")
        case 90..<92: try await die()
        case 92..<95: try await writeNote()
        case 95..<97:
            _ = host.machine.ask(by: random.chance(50) ? .operator : .webhook, at: clock.now())
            try await refreshIfDue()
        case 97..<99: try await release()
        default:
            upstream.forgetCursors()
            trace.add("the other system forgets its cursors")
        }
    }

    private func pass(_ milliseconds: Int) { clock.advance(to: clock.elapsed + milliseconds) }

    private func editUpstream() {
        let what = upstream.edit(&random, at: clock.elapsed)
        trace.add("the other system: \(what)")
    }

    private func writeNote() async throws {
        let id = "n\(notes.count)"
        try await host.writeNote(id)
        notes.insert(id)
        trace.add("note \(id)")
        if isRefreshing { counts.count("writes while a refresh goes on") }
    }

    private func die() async throws {
        trace.add("the gateway dies")
        counts.count("deaths")
        heldServing = nil
        host = try await host.restarted(random: 0.5)
    }
}

// MARK: The mirror

extension MirrorSimulation {
    /// What ``Mirror`` does with its machine, one step after the other.
    private func refreshIfDue() async throws {
        guard !isRefreshing, case .refresh(let trigger) = host.machine.next(at: clock.now()) else { return }
        isRefreshing = true
        defer { isRefreshing = false }
        trace.add("a refresh begins: \(trigger.rawValue)")
        counts.count("refreshes")
        serving = nil
        let refresh = MirrorRefresh(
            collection: host.collection, source: host.source,
            beginReplacement: { [self] _ in try await begin() }, read: { [self] in try await answer($0) },
            clock: clock)
        var outcome: RefreshOutcome
        host.held = nil
        heldServing = nil
        do {
            switch try await refresh.run(since: host.stored) {
            case .done(var summary, let state):
                if plan.sabotage == .asOf { summary.asOf = clock.now() }
                outcome = .done(summary)
                host.stored = state
            case .held(let reason, let held):
                outcome = .held(reason)
                host.held = held
                heldServing = serving
                counts.count("held back")
            }
        } catch is ProcessEnded {
            return try await die()
        } catch let refusal as MirrorRefusal {
            outcome = .held(HeldRefresh(.answer(refusal.kind), detail: refusal.detail, time: clock.now()))
            counts.count("answers refused")
        } catch {
            let known = (error as? UpstreamFailure)?.asError ?? error as? PorticoError
            outcome = .failed(known?.code ?? .serverInternal, detail: "\(error)")
            counts.count("failed refreshes")
        }
        try throwViolation()
        host.machine.finish(outcome, at: clock.now(), random: Double(random.below(100)) / 100)
        trace.add("the refresh is \(outcome)")
    }

    private func begin() async throws -> any RecordReplacement {
        let store = host.store
        let inner = try await store.beginReplacement(of: SimulatedHost.mirror)
        return FaultInjectingReplacement(inner, of: self, plan.sabotage) {
            try await store.beginReplacement(of: SimulatedHost.mirror)
        }
    }

    /// One page of the source. Other things happen before it comes.
    private func answer(_ request: MirrorRequest) async throws -> MirrorPage {
        for _ in 0..<(hasFaults ? random.below(3) : 0) {
            pass(random.below(2_000))
            switch random.below(5) {
            case 0: editUpstream()
            case 1: try await writeNote()
            case 2: try await guarded { try await self.read() }
            default: try await guarded { try await self.step(self.random.below(self.devices.count)) }
            }
            try await guarded { try await self.check() }
        }
        if hasFaults, random.chance(1) { throw ProcessEnded() }
        if upstream.behavior == .slow { pass(10_000) }
        let sabotage = plan.sabotage
        var page = try upstream.page(
            request, size: pageSize,
            isCredulous: { fault in
                (fault == .loginPage && sabotage == .loginPage) || (fault == .truncated && sabotage == .truncation)
            }, &random)
        serving = upstream.servings.last
        if sabotage == .volatile {
            for index in page.rows.indices { page.rows[index]["seen"] = .string("\(clock.elapsed)") }
        }
        return page
    }

    /// A violation found while the engine is under way must not be taken for a failure of the refresh.
    private func guarded(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let found as Violation {
            violation = violation ?? found
            throw found
        }
    }

    private func throwViolation() throws { if let violation { throw violation } }

    func stagingFails() -> Bool { hasFaults && random.chance(1) }

    func fateOfApply() -> ApplyFate {
        guard hasFaults else { return .good }
        switch random.below(20) {
        case 0: return .fails
        case 1, 2: return .diesBefore
        case 3, 4: return .diesAfter
        default: return .good
        }
    }

    /// The records have been replaced: the promises about what was written.
    func applied(_ result: ReplacementResult) async throws {
        try await guarded { try await self.checkApplied(result) }
    }

    private func checkApplied(_ result: ReplacementResult) async throws {
        guard let serving = isReleasing ? heldServing : serving else { return }
        let after = serving.result(on: expected)
        let differing = Set(expected.keys).union(after.keys).filter { !Self.isSame(expected[$0], after[$0]) }
        let lost = differing.filter { expected[$0] != nil }.count
        if !isReleasing, expected.count >= 20, lost * 2 > expected.count {
            throw Violation(2, "\(lost) of \(expected.count) records were changed or deleted")
        }
        let difference = result.difference
        guard difference.changes == differing.count else {
            throw Violation(3, "\(difference.changes) records are written where \(differing.count) differ")
        }
        guard result.isWhole == (differing.count > Self.transactionLimit) else {
            throw Violation(3, "\(differing.count) changes are replaced as a whole: \(result.isWhole)")
        }
        counts.count(result.isWhole ? "replaced as a whole" : "changed one by one")
        if differing.isEmpty { counts.count("refreshes without a change") }
        expected = after
        expectedVersion = serving.version
        if serving.since == nil { buildsOnLie = !serving.isHonest }
        trace.add("the mirror has version \(serving.version), \(differing.count) records differ")
        if !buildsOnLie, let wrong = wrongRow(of: serving.version) {
            throw Violation(1, "\(wrong) is not as in version \(serving.version)")
        }
        try await checkRecords()
    }

    /// The operator looks at what is held back, and releases it where the other system means it.
    private func release() async throws {
        guard !isRefreshing, let held = host.held, let heldServing else { return }
        guard heldServing.isHonest else { return }
        host.held = nil
        isReleasing = true
        defer { isReleasing = false }
        do {
            _ = try await held.replacement.apply(held.options)
            host.stored = MirrorState(held.options.state)
            host.machine.finish(.done(held.summary), at: clock.now(), random: 0.5)
            counts.count("released")
            trace.add("the operator releases it")
        } catch is ProcessEnded {
            try await die()
        } catch let error as PorticoError {
            trace.add("it cannot be released: \(error.code.rawValue)")
        }
        try throwViolation()
        self.heldServing = nil
    }
}

// MARK: Readers and devices

extension MirrorSimulation {
    /// A read over HTTP, which waits for a refresh where the machine says so.
    private func read() async throws {
        if host.machine.read(at: clock.now()) == .wait, !isRefreshing { try await refreshIfDue() }
        let now = clock.now()
        let asOf = plan.sabotage == .staleness ? host.machine.asOf : host.machine.servableTime(at: now)
        let limit = settings.staleFor / .seconds(1)
        guard let asOf else {
            counts.count("reads refused")
            if let known = host.machine.asOf, now.secondsSinceReferenceDate - known.secondsSinceReferenceDate <= limit {
                throw Violation(4, "rows of \(known) are refused at \(now)")
            }
            return
        }
        counts.count("reads served")
        guard now.secondsSinceReferenceDate - asOf.secondsSinceReferenceDate <= limit else {
            throw Violation(4, "rows of \(asOf) are served at \(now)")
        }
    }

    /// One request and its answer, an edit, or one try to begin.
    private func step(_ number: Int) async throws {
        guard !devices[number].requests.isEmpty else {
            if hasFaults, random.chance(15) { return try edit(number) }
            _ = host.machine.ask(by: .pull, at: clock.now())
            let actions = devices[number].isAsleep ? devices[number].machine.wake() : devices[number].machine.sync()
            devices[number].isAsleep = false
            return try carryOut(actions, number)
        }
        switch devices[number].requests.removeFirst() {
        case .pull(let request, let pull):
            let reply = try await answer(pull, devices[number].person)
            try carryOut(devices[number].machine.pulled(request, reply), number)
        case .push(let request, let push):
            let reply = try await answer(push, devices[number].person)
            try carryOut(devices[number].machine.pushed(request, reply), number)
        }
    }

    /// The request or the answer may be lost.
    private func answer(_ pull: PullRequest, _ person: String) async throws -> PullReply {
        if hasFaults, random.chance(10) { return .unavailable }
        do {
            let page = try await host.pull(pull, for: person)
            try await check(page, of: person)
            return hasFaults && random.chance(5) ? .unavailable : .page(page)
        } catch let error as PorticoError where error.code == .fetchAgain {
            return .fetchAgain
        }
    }

    private func answer(_ push: PushRequest, _ person: String) async throws -> PushReply {
        if hasFaults, random.chance(10) { return .unavailable }
        let response = try await host.push(push, for: person)
        try check(response, to: push, of: person)
        return hasFaults && random.chance(10) ? .unavailable : .answer(response)
    }

    /// A note, or what no caller may make: a change of the mirror.
    private func edit(_ number: Int) throws {
        devices[number].edits += 1
        let edit: LocalEdit
        if random.chance(75) {
            let id = "d\(number).\(devices[number].edits)"
            edit = LocalEdit(RecordKey("notes", id), .create(["text": .string("text of \(id)")]))
        } else if random.chance(50), let id = random.pick(devices[number].rows.keys.sorted()) {
            edit = LocalEdit(RecordKey("people", id), random.chance(50) ? .delete : .update(["name": "mine"]))
        } else {
            // It may be the id of a row that the person does not see.
            let id = "p\(random.below(60))"
            edit = LocalEdit(
                RecordKey("people", id), .create(["name": "mine", "readers": [.string(devices[number].person)]]))
        }
        guard let actions = try? devices[number].machine.edit(edit) else { return }
        trace.add("d\(number) edits \(edit.key.id)")
        counts.count("edits")
        try carryOut(actions, number)
    }

    /// Notes are taken at once, changes of the mirror refused for good, and no refusal tells of a row out of sight.
    private func check(_ response: PushResponse, to push: PushRequest, of person: String) throws {
        for (mutation, outcome) in zip(push.mutations, response.outcomes) {
            if mutation.collection == "notes" {
                guard outcome.verdict == .applied else {
                    throw Violation(7, "the note \(mutation.id) is not taken: \(outcome.verdict)")
                }
                notes.insert(mutation.id)
                if isRefreshing { counts.count("pushes while a refresh goes on") }
            } else {
                guard outcome.verdict == .rejected else {
                    throw Violation(7, "the change of \(mutation.id) is not refused: \(outcome.verdict)")
                }
                counts.count("changes of the mirror refused")
            }
            if let fields = outcome.record?.fields, mutation.collection == "people", !Self.isReader(person, fields) {
                throw Violation(5, "\(person) is shown \(mutation.id) by an outcome")
            }
        }
        guard response.outcomes.count == push.mutations.count else { throw Violation(7, "a mutation has no outcome") }
    }

    private func carryOut(_ actions: [DeviceAction], _ number: Int) throws {
        for action in actions {
            switch action {
            case .persist(let entry): if case .pulled = entry { devices[number].machine.rowsAreStored() }
            case .stage: devices[number].machine.pieceIsStaged()
            case .pull(let request, let pull): devices[number].requests.append(.pull(request, pull))
            case .push(let request, let push): devices[number].requests.append(.push(request, push))
            case .wake: devices[number].isAsleep = true
            case .report(.pulled):
                counts.count("pulled")
                try checkRows(number)
            case .report: break
            }
        }
    }

    /// Nothing is sent that the person may not see, and what is sent is what is there.
    private func check(_ page: PullPage, of person: String) async throws {
        let rows = try await host.rows()
        for operation in page.operations where operation.collection == "people" {
            guard case .put(let fields) = operation.kind else { continue }
            guard Self.isReader(person, fields.tree) else { throw Violation(5, "\(person) is sent \(operation.id)") }
            guard rows[operation.id]?.revision.number == operation.rev else {
                throw Violation(6, "\(person) is sent another \(operation.id) than there is")
            }
        }
        guard case .complete(let completion) = page.ending else { return }
        rowsOfCheckpoints["\(person) \(completion.checkpoint)"] =
            rows.filter { Self.isReader(person, $0.value.fields) }.mapValues(\.revision.number)
    }

    private static func isReader(_ person: String, _ fields: WireDictionary) -> Bool {
        fields["readers"]?.arrayValue?.contains(.string(person)) ?? false
    }
}

// MARK: The promises

extension MirrorSimulation {
    private func check() async throws {
        try throwViolation()
        try await checkRecords()
        guard try await host.notes() == notes else { throw Violation(7, "there are other notes than were written") }
        guard let asOf = host.machine.asOf, let expectedVersion else { return }
        // To the second, as the clock has it.
        let time = Int(asOf.secondsSinceReferenceDate - VirtualClock().now().secondsSinceReferenceDate) * 1_000
        guard upstream.version(at: time) <= expectedVersion else {
            throw Violation(4, "rows of version \(expectedVersion) are said to be of a later time")
        }
    }

    private func checkRecords() async throws {
        let rows = try await host.rows()
        let wrong = Set(rows.keys).union(expected.keys).filter { !Self.isSame(rows[$0]?.fields, expected[$0]) }
        guard wrong.isEmpty else {
            throw Violation(1, "the mirror has other rows than were answered: \(wrong.sorted())")
        }
    }

    private func checkRows(_ number: Int) throws {
        let device = devices[number]
        guard let checkpoint = device.machine.state.checkpoint else { return }
        guard device.rows == rowsOfCheckpoints["\(device.person) \(checkpoint)"] else {
            throw Violation(6, "d\(number) shows rows of no checkpoint")
        }
    }

    /// A record that a version of the other system has otherwise, rows aside that do not fit.
    private func wrongRow(of version: Int) -> String? {
        let truth = upstream.history[version].rows
        return Set(truth.keys).union(expected.keys).sorted().first { id in
            truth[id].map { SimulatedUpstream.fits($0) && !Self.isSame($0, expected[id]) } ?? (expected[id] != nil)
        }
    }

    /// Texts by what they mean.
    private static func isSame(_ left: WireDictionary?, _ right: WireDictionary?) -> Bool {
        left?["name"]?.stringValue == right?["name"]?.stringValue && left?["readers"] == right?["readers"]
            && (left == nil) == (right == nil)
    }

    /// The faults stop: all have to agree soon.
    private func settle() async throws {
        hasFaults = false
        upstream.behavior = .well
        upstream.mend(&random, at: clock.elapsed)
        // From a cursor that came with a lie, changes alone do not lead back to the truth.
        if buildsOnLie { upstream.forgetCursors() }
        trace.add("the faults stop")
        for _ in 0..<5 {
            // Longer than any pause after failures, and than the rows are fresh.
            pass(120_000)
            _ = host.machine.read(at: clock.now())
            try await refreshIfDue()
            try await release()
            try await check()
        }
        if let wrong = wrongRow(of: upstream.version) {
            throw Violation(8, "the mirror has not the \(wrong) that the other system has")
        }
        for number in devices.indices {
            // A pull and a push that were under way, and one of each after them.
            for _ in 0..<3 {
                try await step(number)
                for _ in 0..<1_000 where !devices[number].requests.isEmpty || devices[number].isAsleep {
                    try await step(number)
                }
            }
            guard devices[number].machine.state.outbox.pending.isEmpty else {
                throw Violation(8, "d\(number) still has changes to send")
            }
            let visible = try await host.rows().filter { Self.isReader(devices[number].person, $0.value.fields) }
            guard devices[number].rows == visible.mapValues(\.revision.number) else {
                throw Violation(8, "d\(number) has not what its person may see")
            }
        }
    }
}
