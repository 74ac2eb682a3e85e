import AdapterKit
import Synchronization

/// Sends calls to the session that there is, has them wait while there is none, and sends reads once more where the
/// worker ended under them.
final class WorkerCalls: Sendable {
    typealias Admission = CallAdmission<any WorkerSession, CheckedContinuation<Void, Never>>

    private struct State {
        var admission: Admission
        var latest: (any WorkerSession)?
        /// That the session is of.
        var attempt = 0
        /// Calls that ended with the session of this attempt.
        var interrupted = (attempt: 0, calls: 0)
        /// Calls that expired since one was answered.
        var stall: StallDetector.Stall?
        /// The last call whose whole time passed without anything of the worker's coming.
        var silence: StallDetector.Silence?
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    private let queueTimeout: Duration

    init(limits: CallLimits) {
        state = Mutex(State(admission: Admission(limits: limits)))
        queueTimeout = limits.queueTimeout
    }

    var counts: (inFlight: Int, queued: Int) {
        state.withLock { ($0.admission.inFlight, $0.admission.queued) }
    }

    var stall: StallDetector.Stall? { state.withLock { $0.stall } }

    /// A silence that goes on; nil: something has come since.
    var silence: StallDetector.Silence? {
        let (silence, session) = state.withLock { ($0.silence, $0.latest) }
        return silence?.received == session?.received ? silence : nil
    }

    /// The last session, which may have ended.
    var latest: (any WorkerSession)? { state.withLock { $0.latest } }

    /// Throws what the call throws; ``WorkerEnded`` where the worker ended before it answered, `server.overloaded` and
    /// `adapter.unavailable` where the call did not begin. A call that was sent is sent once more only where it
    /// `isRepeatable`.
    func perform<Result: Sendable>(
        isRepeatable: Bool, deadline: ContinuousClock.Instant? = nil,
        _ body: (any WorkerSession) async throws -> Result
    ) async throws -> Result {
        var triesLeft = Self.mostTries
        var mayRepeat = isRepeatable
        while true {
            let (session, attempt) = try await enter(until: deadline)
            let (began, received) = (ContinuousClock.now, session.received)
            do {
                let result = try await body(session)
                leave(.answered)
                return result
            } catch let ended as WorkerEnded {
                leave(.ended)
                if ended.wasSent { interrupt(attempt) }
                hold(attempt)
                triesLeft -= 1
                guard triesLeft > 0, !ended.wasSent || mayRepeat, !Task.isCancelled else { throw ended }
                if ended.wasSent { mayRepeat = false }
            } catch {
                guard Task.isCancelled else {
                    leave(.answered)
                    throw error
                }
                // A caller may have gone earlier: that says nothing about the worker.
                let isOverdue = deadline.map { ContinuousClock.now >= $0 } ?? false
                leave(
                    .expired,
                    isOverdue && session.received == received
                        ? StallDetector.Silence(received: received, time: .now - began) : nil, attempt)
                throw error
            }
        }
    }

    /// How many calls ended with the session of this attempt so far.
    func interrupted(in attempt: Int) -> Int {
        state.withLock { $0.interrupted.attempt == attempt ? $0.interrupted.calls : 0 }
    }

    private func interrupt(_ attempt: Int) {
        state.withLock { state in
            if state.interrupted.attempt != attempt { state.interrupted = (attempt, 0) }
            state.interrupted.calls += 1
        }
    }

    func open(_ session: any WorkerSession, attempt: Int) {
        let waiters = state.withLock { state in
            state.latest = session
            (state.stall, state.silence) = (nil, nil)
            state.attempt = attempt
            return state.admission.open(session, attempt: attempt)
        }
        for waiter in waiters { waiter.resume() }
    }

    func hold(_ attempt: Int? = nil) {
        state.withLock { $0.admission.hold(attempt) }
    }

    func refuse(_ reason: String) {
        let waiters = state.withLock { $0.admission.refuse(reason) }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when no call is under way.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.admission.inFlight > 0 { state.drained.append(continuation) }
                return state.admission.inFlight == 0
            }
            if isDrained { continuation.resume() }
        }
    }

    private func enter(until deadline: ContinuousClock.Instant?) async throws -> (any WorkerSession, Int) {
        var isOver = ContinuousClock.now.advanced(by: queueTimeout)
        if let deadline { isOver = min(isOver, deadline) }
        while true {
            switch state.withLock({ $0.admission.enter(for: .current) }) {
            case .begin(let session, let attempt): return (session, attempt)
            case .refuse(.overloaded):
                throw PorticoError(.overloaded, "The adapter has too many calls at the moment.", retryAfter: 1)
            case .refuse(.unavailable(let reason)):
                throw PorticoError(
                    .adapterUnavailable, "This service is not available at the moment.", retryAfter: 5,
                    logDetail: reason)
            case .wait:
                try Task.checkCancellation()
                guard ContinuousClock.now < isOver else {
                    throw PorticoError(
                        .adapterUnavailable, "This service is not available at the moment.", retryAfter: 1,
                        logDetail: "The worker has not restarted in time.")
                }
                await waitForChange(until: isOver)
            }
        }
    }

    /// Returns when the worker is there, or not to be expected, at the time at the latest, or when the task is cancelled.
    private func waitForChange(until time: ContinuousClock.Instant) async {
        let ticket = state.withLock { $0.admission.ticket() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(until: time, clock: .continuous)
                self.endWait(ticket)
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let waits = state.withLock { $0.admission.wait(continuation, ticket, for: .current) }
                    guard waits else { return continuation.resume() }
                    // What ends the wait may have happened before it began.
                    if Task.isCancelled || ContinuousClock.now >= time { endWait(ticket) }
                }
            } onCancel: {
                endWait(ticket)
            }
            group.cancelAll()
        }
    }

    private func endWait(_ ticket: UInt64) {
        state.withLock { $0.admission.leaveQueue(ticket) }?.resume()
    }

    private enum CallEnd {
        case answered
        /// Its deadline has passed, or its caller has gone.
        case expired
        case ended
    }

    private func leave(_ end: CallEnd, _ silence: StallDetector.Silence? = nil, _ attempt: Int = 0) {
        let drained = state.withLock { state in
            state.admission.leave(.current)
            if let silence, attempt == state.attempt { state.silence = silence }
            switch end {
            case .answered: state.stall = nil
            case .expired:
                state.stall = StallDetector.Stall(
                    since: state.stall?.since ?? ContinuousClock.now, expired: (state.stall?.expired ?? 0) + 1)
            case .ended: break
            }
            guard state.admission.inFlight == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.drained = [] }
            return state.drained
        }
        for continuation in drained { continuation.resume() }
    }

    /// Of one call, those included that could not be sent.
    private static let mostTries = 3
}
