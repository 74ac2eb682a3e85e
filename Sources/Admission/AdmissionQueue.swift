import AdapterKit
import Dispatch
import Synchronization

/// Admits requests by the rules of a policy, and has tasks wait for it: executes ``AdmissionMachine``.
///
/// A task that is cancelled while it waits, or whose deadline passes, leaves the queue at once. One that was admitted before has its
/// place and leaves it like any other. Safe to use from any task and thread.
public final class AdmissionQueue<Policy: AdmissionPolicy>: Sendable {
    private typealias Waiter = CheckedContinuation<Policy.Grant, any Error>

    private struct State {
        var machine: AdmissionMachine<Policy, Waiter>
        /// For when a timer is set; nil: none is.
        var timer: ContinuousClock.Instant?

        /// For when one is to be set now.
        mutating func nextTimer() -> ContinuousClock.Instant? {
            guard let alarm = machine.alarm, timer.map({ alarm < $0 }) ?? true else { return nil }
            timer = alarm
            return alarm
        }
    }

    private let state: Mutex<State>

    /// `late`: what is thrown where the deadline of a request passes while it waits.
    public init(_ policy: Policy, late: any Error = CancellationError()) {
        state = Mutex(State(machine: AdmissionMachine(policy, late: late)))
    }

    /// Gives a request a place, an admitted one or one in the queue. A refusal holds nothing. Does not wait.
    public func reserve(_ request: Policy.Request) throws(Policy.Refusal) -> AdmissionPlace<Policy> {
        let entry = perform { machine, now in
            Result { () throws(Policy.Refusal) in try machine.arrive(request, at: now) }
        }
        let (ticket, grant) = try entry.get()
        return AdmissionPlace(ticket: ticket, request: request, grant: grant)
    }

    /// Returns what the request is granted, as soon as it is. The place has to be left then (``leave(_:_:)``). Throws
    /// `CancellationError` where the task is cancelled before, what the policy refuses it with, and where the deadline passes what the
    /// queue has for that; there is no place then. To be called once for a place.
    @discardableResult
    public func wait(
        for place: AdmissionPlace<Policy>, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> Policy.Grant {
        if let grant = place.grant { return grant }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let outcome = perform { machine, now in
                    machine.wait(for: place.ticket, waiter, until: deadline, at: now)
                }
                if let outcome { waiter.resume(with: outcome) }
            }
        } onCancel: {
            perform { machine, now in machine.cancel(place.ticket, at: now) }
        }
    }

    /// Reserves a place and waits for it.
    public func acquire(
        _ request: Policy.Request, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> AdmissionPermit<Policy> {
        let place = try reserve(request)
        return AdmissionPermit(place: place, grant: try await wait(for: place, until: deadline))
    }

    /// An admitted request has ended. To be called once.
    public func leave(_ place: AdmissionPlace<Policy>, _ end: Policy.End) {
        perform { machine, now in machine.leave(place.request, as: place.ticket, end, at: now) }
    }

    /// Calls `end` once where the admitted request is to end: at its deadline, or where the policy gives its place to another. The
    /// request keeps its place until it leaves. `end` returns at once.
    public func hold(
        _ place: AdmissionPlace<Policy>, until deadline: ContinuousClock.Instant? = nil,
        end: @escaping @Sendable () -> Void
    ) {
        perform { machine, _ in machine.hold(place.ticket, until: deadline, end: end) }
    }

    /// Whether what ends the request was called.
    public func isEnded(_ place: AdmissionPlace<Policy>) -> Bool {
        state.withLock { $0.machine.isEnded(place.ticket) }
    }

    /// Requests that are admitted and requests that wait.
    public var counts: AdmissionCounts { state.withLock { $0.machine.policy.counts } }

    /// Changes the policy, or asks it something. What waits is looked at again.
    public func update<Result: Sendable>(_ change: (inout Policy) -> Result) -> Result {
        perform { machine, now in
            let result = change(&machine.policy)
            machine.decide(at: now)
            return result
        }
    }

    /// Refuses what waits and what arrives from now on. What was admitted goes on.
    public func close(_ refusal: Policy.Refusal) {
        perform { machine, _ in machine.close(refusal) }
    }

    /// One step. Those who waited are woken after the lock is free.
    private func perform<Result: Sendable>(
        after timer: ContinuousClock.Instant? = nil,
        _ step: (inout AdmissionMachine<Policy, Waiter>, ContinuousClock.Instant) -> Result
    ) -> Result {
        let now = ContinuousClock.now
        let (result, wakeUps, endings, next) = state.withLock { state in
            if timer != nil, state.timer == timer { state.timer = nil }
            let result = step(&state.machine, now)
            return (result, state.machine.takeWakeUps(), state.machine.takeEndings(), state.nextTimer())
        }
        for (waiter, outcome) in wakeUps { waiter.resume(with: outcome) }
        for end in endings { end() }
        if let next { setTimer(for: next, from: now) }
        return result
    }

    private func setTimer(for time: ContinuousClock.Instant, from now: ContinuousClock.Instant) {
        let nanoseconds = min(max(0, (time - now) / .nanoseconds(1)), 1e18)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [weak self] in
            self?.perform(after: time) { machine, now in machine.expire(at: now) }
        }
    }
}

extension AdmissionQueue where Policy.End == Void {
    /// An admitted request has ended. To be called once.
    public func leave(_ place: AdmissionPlace<Policy>) { leave(place, ()) }

    /// Runs `body` as soon as the request is admitted, unless the task is cancelled then. Throws what ``acquire(_:until:)`` throws, and
    /// what `body` throws.
    public func run<Result>(
        _ request: Policy.Request, until deadline: ContinuousClock.Instant? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async throws -> Result {
        let permit = try await acquire(request, until: deadline)
        defer { leave(permit.place) }
        try Task.checkCancellation()
        return try await body()
    }
}

/// A request's place at a queue: an admitted one, or one of those that wait.
public struct AdmissionPlace<Policy: AdmissionPolicy>: Sendable {
    /// The request's name.
    public let ticket: AdmissionTicket
    /// Who asked, and for what.
    public let request: Policy.Request
    /// What it was granted at once; nil: it has to wait.
    fileprivate let grant: Policy.Grant?
}

/// The place of an admitted request, with what it is granted.
public struct AdmissionPermit<Policy: AdmissionPolicy>: Sendable {
    /// To be left when the request has ended.
    public let place: AdmissionPlace<Policy>
    /// What the policy gives it.
    public let grant: Policy.Grant
}
