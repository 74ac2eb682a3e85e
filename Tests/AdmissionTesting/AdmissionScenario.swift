import AdapterKit
import Admission

/// A request at a simulated queue.
public struct SimulatedRequest<Policy: AdmissionPolicy>: Sendable {
    public let ticket: AdmissionTicket
    public let request: Policy.Request
}

/// A policy, the requests that it is asked for, and what it promises beyond what all policies do.
public struct AdmissionScenario<Policy: AdmissionPolicy> {
    public typealias Observed = SimulatedRequest<Policy>

    public var policy: (inout SeededRandom) -> Policy
    public var request: (inout SeededRandom) -> Policy.Request
    public var end: (Policy.Grant, inout SeededRandom) -> Policy.End
    /// Whether what is granted is left in the end.
    public var isLeft: (Policy.Grant) -> Bool = { _ in true }
    /// Is done to the policy now and then, and at the end again and again: commits begin, a worker restarts.
    public var poke: (_ policy: inout Policy, _ isEnd: Bool, _ random: inout SeededRandom) -> Void = { _, _, _ in }
    /// Is done after the decisions that follow ``poke``.
    public var settle: (inout Policy) -> Void = { _ in }
    /// What the requests that run break; nil: nothing.
    public var broken: (_ running: [Observed], _ policy: Policy) -> String? = { _, _ in nil }
    /// Whether a request that waits could go beside those that run.
    public var mayGo: (_ waiting: Observed, _ running: [Observed], _ policy: Policy) -> Bool = { _, _, _ in false }
    /// Requests that wait at most.
    public var mostWaiting = Int.max
    /// How many others may be admitted while one waits.
    public var patience: Int
    /// Properties of the policy that keep something for later.
    public var memory: Set<String> = []

    public init(
        patience: Int, policy: @escaping (inout SeededRandom) -> Policy,
        request: @escaping (inout SeededRandom) -> Policy.Request,
        end: @escaping (Policy.Grant, inout SeededRandom) -> Policy.End
    ) {
        (self.patience, self.policy, self.request, self.end) = (patience, policy, request, end)
    }
}

extension AdmissionScenario where Policy.End == Void {
    public init(
        patience: Int, policy: @escaping (inout SeededRandom) -> Policy,
        request: @escaping (inout SeededRandom) -> Policy.Request
    ) {
        self.init(patience: patience, policy: policy, request: request, end: { _, _ in })
    }
}

/// A mistake in a policy, in the machine or in who executes it, that the simulation has to find.
public enum AdmissionSabotage: String, CaseIterable, Sendable {
    /// A request that is refused while it waits does not learn it.
    case losesRefused
    /// One place is given to two.
    case admitsTwice
    /// Some places are not free again.
    case forgetsLeaving
    /// Some places are free twice.
    case leavesTwice
    /// A request that is not wanted any more keeps its place in the queue.
    case forgetsAbandoned
    /// Nothing is decided after a place is free.
    case forgetsToDecide
    /// Some that could go are passed over by all others.
    case passesOver
    /// A waiter is not woken.
    case losesWakeUp
    /// A waiter is woken twice.
    case wakesTwice
    /// No deadline is looked at.
    case ignoresDeadlines
    /// A task that is cancelled goes on waiting.
    case ignoresCancellation
    /// One that is cancelled when it was just admitted does not leave.
    case keepsPlaceOfCancelled
    /// Whoever waits when the queue is closed goes on waiting.
    case closesWithoutWaking
}

/// A policy with a mistake; none: as it is.
struct SabotagedPolicy<Base: AdmissionPolicy>: AdmissionPolicy {
    var base: Base
    let sabotage: AdmissionSabotage?
    /// Of calls, so that some are done right.
    private var calls = 0
    private var again: AdmissionDecision<Base.Grant, Base.Refusal>?
    private var passedOver: [AdmissionDecision<Base.Grant, Base.Refusal>] = []
    private var hasLeft = false

    init(_ base: Base, _ sabotage: AdmissionSabotage?) {
        (self.base, self.sabotage) = (base, sabotage)
    }

    var counts: AdmissionCounts { base.counts }

    mutating func arrive(
        _ request: Base.Request, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Base.Grant, Base.Refusal> {
        hasLeft = false
        return base.arrive(request, as: ticket, at: now)
    }

    mutating func abandon(_ ticket: AdmissionTicket) {
        if sabotage != .forgetsAbandoned { base.abandon(ticket) }
    }

    mutating func leave(_ request: Base.Request, as ticket: AdmissionTicket, _ end: Base.End, at now: Instant) {
        calls += 1
        if sabotage == .forgetsLeaving, calls % 4 == 0 { return }
        base.leave(request, as: ticket, end, at: now)
        if sabotage == .leavesTwice, calls % 4 == 0 { base.leave(request, as: ticket, end, at: now) }
        hasLeft = true
    }

    mutating func next(at now: Instant) -> AdmissionDecision<Base.Grant, Base.Refusal>? {
        if sabotage == .forgetsToDecide, hasLeft { return nil }
        if let known = again {
            again = nil
            return known
        }
        guard let decision = base.next(at: now) else { return passedOver.count > 40 ? passedOver.removeFirst() : nil }
        switch (sabotage, decision) {
        case (.losesRefused, .refuse): return next(at: now)
        case (.admitsTwice, .admit(let ticket, let grant)) where ticket % 4 == 0:
            again = .admit(ticket + 1, grant)
        case (.passesOver, .admit(let ticket, _)) where ticket % 8 == 0:
            passedOver.append(decision)
            return next(at: now)
        default: break
        }
        return decision
    }

    mutating func takeRevoked(at now: Instant) -> [AdmissionTicket] { base.takeRevoked(at: now) }
    func nextRevocation(after now: Instant) -> Instant? { base.nextRevocation(after: now) }
}
