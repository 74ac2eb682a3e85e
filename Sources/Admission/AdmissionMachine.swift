import AdapterKit

/// What becomes of the requests at one queue, by the rules of a policy: cancellation, deadlines, eviction, revocation and the queue's
/// end. A state machine: what is to be done is collected (``takeWakeUps()``, ``takeEndings()``) and done by who holds it, once its
/// lock is free.
///
/// A request has its ticket before anyone waits for it, so that it may be admitted, refused, given up or late before; the outcome is
/// kept until it is waited for.
public struct AdmissionMachine<Policy: AdmissionPolicy, Waiter: Sendable>: Sendable {
    /// How waiting ended: with what the request was granted, or an error.
    public typealias Outcome = Result<Policy.Grant, any Error>
    /// A moment of the clock of all queues.
    public typealias Instant = ContinuousClock.Instant

    private enum Slot: Sendable {
        /// In the queue; no caller waits for it yet.
        case reserved
        case waiting(Waiter, until: Instant?)
        /// Decided before it was waited for.
        case settled(Outcome)
    }

    private struct Holder: Sendable {
        let until: Instant?
        let end: @Sendable () -> Void
        var isEnded = false
    }

    /// The rules. After a change ``decide(at:)`` is to be called.
    public var policy: Policy
    private let late: any Error
    private var slots: [AdmissionTicket: Slot] = [:]
    /// Admitted requests that can be ended.
    private var holders: [AdmissionTicket: Holder] = [:]
    private var lastTicket: AdmissionTicket = 0
    private var closed: Policy.Refusal?
    /// When ``expire(at:)`` is to be called, or earlier; nil: not before something happens.
    public private(set) var alarm: Instant?
    private var wakeUps: [(waiter: Waiter, outcome: Outcome)] = []
    private var endings: [@Sendable () -> Void] = []

    /// `late`: what a request throws whose deadline passes while it waits.
    public init(_ policy: Policy, late: any Error) {
        self.policy = policy
        self.late = late
    }

    /// No request waits, is kept for who has not waited for it yet, or can be ended.
    public var isEmpty: Bool { slots.isEmpty && holders.isEmpty }

    /// The ticket of a new request, and what it is granted; nil: it waits. A refusal leaves nothing behind.
    public mutating func arrive(
        _ request: Policy.Request, at now: Instant
    ) throws(Policy.Refusal) -> (ticket: AdmissionTicket, grant: Policy.Grant?) {
        if let closed { throw closed }
        lastTicket += 1
        let ticket = lastTicket
        switch policy.arrive(request, as: ticket, at: now) {
        case .admitted(let grant): return (ticket, grant)
        case .refused(let refusal):
            decide(at: now)
            throw refusal
        case .waits:
            slots[ticket] = .reserved
            ring(at: policy.nextRevocation(after: now))
            return (ticket, nil)
        case .undecided: break
        }
        var own: AdmissionDecision<Policy.Grant, Policy.Refusal>?
        slots[ticket] = .reserved
        while let decision = policy.next(at: now) {
            if decision.ticket == ticket { own = decision } else { settle(decision) }
        }
        switch own {
        case nil:
            ring(at: policy.nextRevocation(after: now))
            return (ticket, nil)
        case .admit(_, let grant):
            slots[ticket] = nil
            return (ticket, grant)
        case .refuse(_, let refusal):
            slots[ticket] = nil
            throw refusal
        }
    }

    /// Has a caller wait for a request that has no grant yet. Returns its outcome where that is known, and nil where `waiter` is woken
    /// later. A request is waited for once.
    public mutating func wait(
        for ticket: AdmissionTicket, _ waiter: Waiter, until deadline: Instant?, at now: Instant
    ) -> Outcome? {
        switch slots[ticket] {
        case .settled(let outcome):
            slots[ticket] = nil
            return outcome
        case .reserved:
            guard deadline.map({ now < $0 }) ?? true else {
                slots[ticket] = nil
                policy.abandon(ticket)
                decide(at: now)
                return .failure(late)
            }
            slots[ticket] = .waiting(waiter, until: deadline)
            ring(at: deadline)
            return nil
        case .waiting, nil: return .failure(CancellationError())
        }
    }

    /// A request is not wanted any more. One that was admitted keeps its place until it leaves.
    public mutating func cancel(_ ticket: AdmissionTicket, at now: Instant) {
        guard giveUp(ticket, CancellationError()) else { return }
        decide(at: now)
    }

    /// An admitted request has ended.
    public mutating func leave(
        _ request: Policy.Request, as ticket: AdmissionTicket, _ end: Policy.End, at now: Instant
    ) {
        holders[ticket] = nil
        policy.leave(request, as: ticket, end, at: now)
        decide(at: now)
    }

    /// `end` is called once where the request is to end: at its deadline, or where the policy gives its place to another.
    public mutating func hold(_ ticket: AdmissionTicket, until deadline: Instant?, end: @escaping @Sendable () -> Void)
    {
        holders[ticket] = Holder(until: deadline, end: end)
        ring(at: deadline)
    }

    /// Whether an admitted request was asked to end.
    public func isEnded(_ ticket: AdmissionTicket) -> Bool { holders[ticket]?.isEnded ?? false }

    /// Admits and refuses what the policy says.
    public mutating func decide(at now: Instant) {
        while let decision = policy.next(at: now) { settle(decision) }
    }

    /// Ends what is late, and what the policy revokes.
    public mutating func expire(at now: Instant) {
        let overdue = slots.compactMap { ticket, slot -> AdmissionTicket? in
            guard case .waiting(_, let deadline?) = slot, deadline <= now else { return nil }
            return ticket
        }
        for ticket in overdue.sorted() { _ = giveUp(ticket, late) }
        decide(at: now)
        for (ticket, holder) in holders {
            if let deadline = holder.until, deadline <= now { end(ticket) }
        }
        for ticket in policy.takeRevoked(at: now) { end(ticket) }
        alarm = policy.nextRevocation(after: now)
        for case .waiting(_, let deadline) in slots.values { ring(at: deadline) }
        for holder in holders.values where !holder.isEnded { ring(at: holder.until) }
    }

    private mutating func ring(at time: Instant?) {
        if let time { alarm = alarm.map { min($0, time) } ?? time }
    }

    /// Refuses what waits and what arrives from now on. What was admitted goes on.
    public mutating func close(_ refusal: Policy.Refusal) {
        if closed == nil { closed = refusal }
        for ticket in slots.keys.sorted() { _ = giveUp(ticket, refusal) }
    }

    /// Refuses what arrives from now on. What waits is served.
    public mutating func closeEntrance(_ refusal: Policy.Refusal) {
        if closed == nil { closed = refusal }
    }

    /// Those who are to be woken, and with what. Taken once.
    public mutating func takeWakeUps() -> [(waiter: Waiter, outcome: Outcome)] {
        if wakeUps.isEmpty { return [] }
        defer { wakeUps = [] }
        return wakeUps
    }

    /// What ends admitted requests, to be called. Taken once.
    public mutating func takeEndings() -> [@Sendable () -> Void] {
        if endings.isEmpty { return [] }
        defer { endings = [] }
        return endings
    }

    private mutating func end(_ ticket: AdmissionTicket) {
        guard let holder = holders[ticket], !holder.isEnded else { return }
        holders[ticket]?.isEnded = true
        endings.append(holder.end)
    }

    /// Whether it was still waiting.
    private mutating func giveUp(_ ticket: AdmissionTicket, _ error: any Error) -> Bool {
        switch slots[ticket] {
        case .settled, nil: return false
        case .reserved, .waiting:
            policy.abandon(ticket)
            settle(ticket, .failure(error))
            return true
        }
    }

    private mutating func settle(_ decision: AdmissionDecision<Policy.Grant, Policy.Refusal>) {
        switch decision {
        case .admit(let ticket, let grant): settle(ticket, .success(grant))
        case .refuse(let ticket, let refusal): settle(ticket, .failure(refusal))
        }
    }

    private mutating func settle(_ ticket: AdmissionTicket, _ outcome: Outcome) {
        switch slots[ticket] {
        case .reserved: slots[ticket] = .settled(outcome)
        case .waiting(let waiter, _):
            slots[ticket] = nil
            wakeUps.append((waiter, outcome))
        case .settled, nil: break
        }
    }
}
