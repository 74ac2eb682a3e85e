import AdapterKit
import Admission
import Synchronization

/// Runs one queue from one seed: requests arrive, are waited for at once or later, are cancelled, late, told to end, and leave; in some runs
/// the queue is closed. The policy and ``AdmissionMachine`` are the real ones, time is a number.
///
/// After each step the machine, the policy and what was observed have to agree: each waiter is woken once and for a reason, no limit is
/// exceeded, nobody waits who may go, and nobody is passed over for long. At the end nothing is left of any request.
public struct AdmissionSimulation<Policy: AdmissionPolicy> {
    private typealias Instant = ContinuousClock.Instant
    private typealias Observed = SimulatedRequest<Policy>

    private struct Late: Error {}

    private enum State {
        case reserved
        case waiting(until: Instant?)
        case running(Policy.Grant)
    }

    private struct Entry {
        let request: Policy.Request
        var state = State.reserved
        var isCancelled = false
        /// Admissions of others while it waits.
        var passed = 0
        var endsAt: Instant?
    }

    private struct Violation: Error { let text: String }

    private static var start: Instant { .now }

    private let scenario: AdmissionScenario<Policy>
    private let sabotage: AdmissionSabotage?
    private var random: SeededRandom
    private var machine: AdmissionMachine<SabotagedPolicy<Policy>, AdmissionTicket>
    private var entries: [AdmissionTicket: Entry] = [:]
    private var now: Instant
    private var isClosed = false
    private let ended = EndedRequests()
    /// Of all runs: what happened, so that a run in which nothing does is seen.
    public private(set) var admitted = 0

    public init(_ scenario: AdmissionScenario<Policy>, seed: UInt64, sabotage: AdmissionSabotage? = nil) {
        (self.scenario, self.sabotage) = (scenario, sabotage)
        random = SeededRandom(seed: seed)
        machine = AdmissionMachine(SabotagedPolicy(scenario.policy(&random), sabotage), late: Late())
        now = Self.start
    }

    /// What broke; nil: nothing did.
    public mutating func run(steps: Int = 120) -> String? {
        do {
            let closing = Int.random(in: 0..<10, using: &random) == 0 ? steps * 4 / 5 : nil
            for step in 0..<steps {
                if step == closing { try close() }
                try act()
                try check()
            }
            try finish()
            return nil
        } catch {
            return (error as? Violation)?.text ?? "\(error)"
        }
    }

    private mutating func act() throws {
        switch Int.random(in: 0..<16, using: &random) {
        case 0..<6: try arrive()
        case 6: try waitForReserved()
        case 7: try cancel()
        case 8..<12: try leave()
        case 12: hold()
        case 13: try poke(isEnd: false)
        default: try advance(by: .milliseconds(Int.random(in: 1...20, using: &random)))
        }
    }

    private mutating func arrive() throws {
        let request = scenario.request(&random)
        guard let (ticket, grant) = try? machine.arrive(request, at: now) else { return try observe() }
        guard !isClosed else { throw Violation(text: "\(ticket) was let in after the end") }
        entries[ticket] = Entry(request: request)
        if let grant { try admit(ticket, grant) }
        try observe()
        if grant == nil, Int.random(in: 0..<5, using: &random) > 0 { try wait(for: ticket) }
    }

    private mutating func wait(for ticket: AdmissionTicket) throws {
        let isLimited = Bool.random(using: &random)
        let until = isLimited ? now + .milliseconds(Int.random(in: 0...60, using: &random)) : nil
        let outcome = machine.wait(for: ticket, ticket, until: until, at: now)
        entries[ticket]?.state = .waiting(until: until)
        if let outcome { try wake(ticket, outcome) }
        try observe()
    }

    private mutating func waitForReserved() throws {
        if let ticket = pick(where: { if case .reserved = $0 { true } else { false } }) { try wait(for: ticket) }
    }

    /// Of any that is not gone: one that runs was admitted before its task knew that it is cancelled.
    private mutating func cancel() throws {
        guard let ticket = pick(where: { _ in true }) else { return }
        entries[ticket]?.isCancelled = true
        if sabotage != .ignoresCancellation { machine.cancel(ticket, at: now) }
        try observe()
        if case .waiting = entries[ticket]?.state { throw Violation(text: "\(ticket) waits though it was cancelled") }
        guard case .running(let grant) = entries[ticket]?.state else { return }
        if sabotage == .keepsPlaceOfCancelled { entries[ticket] = nil } else { try leave(ticket, grant) }
    }

    private mutating func leave() throws {
        let ticket = pick { if case .running = $0 { true } else { false } }
        guard let ticket, case .running(let grant) = entries[ticket]?.state else { return }
        try leave(ticket, grant)
    }

    private mutating func leave(_ ticket: AdmissionTicket, _ grant: Policy.Grant) throws {
        guard let entry = entries.removeValue(forKey: ticket) else { return }
        ended.forget(ticket)
        guard scenario.isLeft(grant) else { return }
        machine.leave(entry.request, as: ticket, scenario.end(grant, &random), at: now)
        try observe()
    }

    private mutating func hold() {
        guard let ticket = pick(where: { if case .running = $0 { true } else { false } }) else { return }
        guard entries[ticket]?.endsAt == nil else { return }
        let until = now + .milliseconds(Int.random(in: 1...60, using: &random))
        entries[ticket]?.endsAt = until
        machine.hold(ticket, until: until) { [ended] in ended.note(ticket) }
    }

    private mutating func poke(isEnd: Bool) throws {
        scenario.poke(&machine.policy.base, isEnd, &random)
        machine.decide(at: now)
        scenario.settle(&machine.policy.base)
        try observe()
    }

    /// As who executes the machine does it: at its alarm, and not before.
    private mutating func advance(by time: Duration) throws {
        now += time
        if let alarm = machine.alarm, alarm <= now, sabotage != .ignoresDeadlines { machine.expire(at: now) }
        try observe()
        for (ticket, entry) in entries {
            if case .waiting(let until?) = entry.state, until <= now { throw Violation(text: "\(ticket) is late") }
            if let end = entry.endsAt, end <= now, !ended.contains(ticket) {
                throw Violation(text: "\(ticket) was not told to end")
            }
        }
    }

    private mutating func close() throws {
        isClosed = true
        guard let refusal = refusal() else { return }
        if sabotage == .closesWithoutWaking { machine.closeEntrance(refusal) } else { machine.close(refusal) }
        try observe()
        if entries.values.contains(where: { if case .waiting = $0.state { true } else { false } }) {
            throw Violation(text: "a request waits after the end")
        }
    }

    /// Any that the policy gives; nil: it gave none.
    private mutating func refusal() -> Policy.Refusal? {
        var policy = machine.policy.base
        for ticket in UInt64.max - 10_000..<UInt64.max {
            if case .refused(let refusal) = policy.arrive(scenario.request(&random), as: ticket, at: now) {
                return refusal
            }
        }
        isClosed = false
        return nil
    }

    private mutating func observe() throws {
        for (number, (ticket, outcome)) in machine.takeWakeUps().enumerated() {
            if sabotage == .losesWakeUp, (Int(ticket) + number) % 6 == 0 { continue }
            try wake(ticket, outcome)
            if sabotage == .wakesTwice, ticket % 6 == 0 { try wake(ticket, outcome) }
        }
        for end in machine.takeEndings() { end() }
    }

    private mutating func wake(_ ticket: AdmissionTicket, _ outcome: Result<Policy.Grant, any Error>) throws {
        guard let entry = entries[ticket], case .waiting(let until) = entry.state else {
            throw Violation(text: "\(ticket) was woken and does not wait")
        }
        switch outcome {
        case .success(let grant): try admit(ticket, grant)
        case .failure(let error):
            entries[ticket] = nil
            if error is CancellationError, !entry.isCancelled { throw Violation(text: "\(ticket) was not cancelled") }
            if error is Late, until.map({ $0 > now }) ?? true { throw Violation(text: "\(ticket) is not late") }
        }
    }

    private mutating func admit(_ ticket: AdmissionTicket, _ grant: Policy.Grant) throws {
        admitted += 1
        guard scenario.isLeft(grant) else {
            entries[ticket] = nil
            return
        }
        entries[ticket]?.state = .running(grant)
        for (other, entry) in entries {
            guard case .waiting = entry.state else { continue }
            entries[other]?.passed += 1
            if entry.passed >= scenario.patience { throw Violation(text: "\(other) starves") }
        }
    }

    private func check() throws {
        let (policy, counts) = (machine.policy.base, machine.policy.counts)
        var (running, waiting, reserved): ([Observed], [Observed], Int) = ([], [], 0)
        for (ticket, entry) in entries {
            let observed = Observed(ticket: ticket, request: entry.request)
            switch entry.state {
            case .reserved: reserved += 1
            case .waiting: waiting.append(observed)
            case .running: running.append(observed)
            }
        }
        // What nobody has waited for yet may be any of it.
        guard (running.count...running.count + reserved).contains(counts.running),
            (waiting.count...waiting.count + reserved).contains(counts.waiting)
        else { throw Violation(text: "\(counts) where \(running.count) run, \(waiting.count) wait, \(reserved) may") }
        if let broken = scenario.broken(running, policy) { throw Violation(text: broken) }
        if counts.waiting > scenario.mostWaiting { throw Violation(text: "\(counts.waiting) wait") }
        guard reserved == 0 else { return }
        if let idle = waiting.first(where: { scenario.mayGo($0, running, policy) }) {
            throw Violation(text: "\(idle.ticket) waits and may go")
        }
    }

    private mutating func finish() throws {
        var rounds = 0
        while !entries.isEmpty {
            rounds += 1
            guard rounds < 2_000 else { throw Violation(text: "\(entries.count) never end") }
            for ticket in entries.keys.sorted() {
                switch entries[ticket]?.state {
                case .reserved: try wait(for: ticket)
                case .running(let grant): try leave(ticket, grant)
                case .waiting, nil: break
                }
            }
            try poke(isEnd: true)
            try advance(by: .milliseconds(5))
        }
        guard machine.isEmpty, machine.policy.counts == AdmissionCounts(running: 0, waiting: 0) else {
            throw Violation(text: "something is left: \(machine.policy.counts)")
        }
        for (name, value) in Mirror(reflecting: machine.policy.base).children {
            guard let name, !scenario.memory.contains(name) else { continue }
            let mirror = Mirror(reflecting: value)
            guard [.collection, .dictionary, .set].contains(mirror.displayStyle), !mirror.children.isEmpty else {
                continue
            }
            throw Violation(text: "\(name) keeps \(mirror.children.count)")
        }
    }

    private mutating func pick(where matches: (State) -> Bool) -> AdmissionTicket? {
        entries.filter { matches($0.value.state) }.keys.sorted().randomElement(using: &random)
    }
}

/// The requests that were told to end.
private final class EndedRequests: Sendable {
    private let tickets = Mutex<[AdmissionTicket: Int]>([:])

    func note(_ ticket: AdmissionTicket) { tickets.withLock { $0[ticket, default: 0] += 1 } }
    func forget(_ ticket: AdmissionTicket) { tickets.withLock { $0[ticket] = nil } }
    func contains(_ ticket: AdmissionTicket) -> Bool { tickets.withLock { $0[ticket] == 1 } }
}

extension AdmissionScenario {
    /// The first seed that breaks a promise, and what broke; nil: none of them does.
    public func firstViolation(seeds: some Sequence<UInt64>, sabotage: AdmissionSabotage? = nil) -> String? {
        for seed in seeds {
            var simulation = AdmissionSimulation(self, seed: seed, sabotage: sabotage)
            if let broken = simulation.run() { return "seed \(seed): \(broken)" }
        }
        return nil
    }

    /// The mistakes that none of the seeds finds.
    public func unnoticed(of sabotages: [AdmissionSabotage], seeds: some Sequence<UInt64>) -> [AdmissionSabotage] {
        sabotages.filter { firstViolation(seeds: seeds, sabotage: $0) == nil }
    }
}
