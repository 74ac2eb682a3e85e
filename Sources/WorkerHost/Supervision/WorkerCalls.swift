import AdapterKit
import Admission

/// Sends calls to the session that there is, has them wait while there is none, and sends reads once more where the
/// worker ended under them.
final class WorkerCalls: Sendable {
    private typealias Policy = CallAdmission<any WorkerSession>

    private let queue: AdmissionQueue<Policy>
    private let queueTimeout: Duration

    init(limits: CallLimits) {
        queue = AdmissionQueue(
            Policy(limits: limits),
            late: PorticoError(
                .adapterUnavailable, "This service is not available at the moment.", retryAfter: 1,
                logDetail: "The worker has not restarted in time."))
        queueTimeout = limits.queueTimeout
    }

    /// Calls under way, and calls that wait.
    var counts: AdmissionCounts { queue.counts }

    var stall: StallDetector.Stall? { queue.update { $0.stall } }

    /// A silence that goes on; nil: something has come since.
    var silence: StallDetector.Silence? {
        let (silence, latest) = queue.update { ($0.silence, $0.latest) }
        return silence?.received == latest?.session.received ? silence : nil
    }

    /// The last session, which may have ended.
    var latest: (any WorkerSession)? { queue.update { $0.latest?.session } }

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
            let (asked, first) = (ContinuousClock.now, queue.update { $0.latest })
            let receivedBefore = first?.session.received
            let permit = try await enter(until: deadline)
            let (session, attempt) = (permit.grant.session, permit.grant.attempt)
            // While it waited for its turn the worker had the calls before it.
            let isSame = first?.attempt == attempt
            let began = isSame ? asked : .now
            let received = (isSame ? receivedBefore : nil) ?? session.received
            do {
                let result = try await body(session)
                leave(permit.place, .answered)
                return result
            } catch let ended as WorkerEnded {
                leave(permit.place, .ended(attempt: attempt, wasSent: ended.wasSent))
                triesLeft -= 1
                guard triesLeft > 0, !ended.wasSent || mayRepeat, !Task.isCancelled else { throw ended }
                if ended.wasSent { mayRepeat = false }
            } catch {
                guard Task.isCancelled else {
                    leave(permit.place, .answered)
                    throw error
                }
                // A caller may have gone earlier: that says nothing about the worker.
                let isOverdue = deadline.map { ContinuousClock.now >= $0 } ?? false
                let isSilent = isOverdue && session.received == received
                let silence = isSilent ? StallDetector.Silence(received: received, time: .now - began) : nil
                leave(permit.place, .expired(silence, attempt: attempt))
                throw error
            }
        }
    }

    /// The number of calls that ended with the session of this attempt so far.
    func interruptedCalls(in attempt: Int) -> Int { queue.update { $0.interruptedCalls(in: attempt) } }

    func open(_ session: any WorkerSession, attempt: Int) { queue.update { $0.open(session, attempt: attempt) } }

    func hold() { queue.update { $0.hold() } }

    func refuse(_ reason: String) { queue.update { $0.refuse(reason) } }

    /// Returns when no call is under way.
    func waitUntilDrained() async {
        await withCheckedContinuation { waiter in
            let idle = queue.update { calls in
                calls.idleWaiters.append(waiter)
                return calls.takeIdleWaiters()
            }
            for waiter in idle { waiter.resume() }
        }
    }

    private func enter(
        until deadline: ContinuousClock.Instant?
    ) async throws -> AdmissionPermit<Policy> {
        let isOver = ContinuousClock.now.advanced(by: queueTimeout)
        do {
            return try await queue.acquire(.current, until: deadline.map { min($0, isOver) } ?? isOver)
        } catch Policy.Refusal.overloaded {
            throw PorticoError(.overloaded, "The adapter has too many calls at the moment.", retryAfter: 1)
        } catch Policy.Refusal.unavailable(let reason) {
            throw PorticoError(
                .adapterUnavailable, "This service is not available at the moment.", retryAfter: 5, logDetail: reason)
        }
    }

    private func leave(_ place: AdmissionPlace<Policy>, _ end: Policy.End) {
        queue.leave(place, end)
        for waiter in queue.update({ $0.takeIdleWaiters() }) { waiter.resume() }
    }

    /// Tries of one call, those included that could not be sent.
    private static let mostTries = 3
}
