import AdapterKit
import Admission

/// The turns of one upstream's calls (``AccountQueue``): the accounts for which they are made take turns, those of one keep their
/// order. One turn is always left for another account.
final class CallPermits: Sendable {
    private let queue: AdmissionQueue<AccountQueue<UpstreamFailure>>

    init(_ settings: UpstreamSettings) {
        queue = AdmissionQueue(
            AccountQueue(
                limit: settings.limits.connections, places: settings.limits.queue, share: .free,
                refusal: UpstreamFailure(.overloaded, of: settings.name, detail: "too many calls wait")),
            late: UpstreamFailure(.timedOut, of: settings.name, detail: "no turn came"))
    }

    /// Calls under way and calls that wait.
    var counts: AdmissionCounts { queue.counts }

    /// Waits for the turn at most until `end`. It is of the share of ``CallerIdentity/current``.
    func enter(until end: ContinuousClock.Instant) async throws -> CallPermit {
        CallPermit(try await queue.acquire(.current, until: end).place, of: queue)
    }
}

/// One call's turn. It ends with the last reference.
final class CallPermit: Sendable {
    private let place: AdmissionPlace<AccountQueue<UpstreamFailure>>
    private let queue: AdmissionQueue<AccountQueue<UpstreamFailure>>

    fileprivate init(
        _ place: AdmissionPlace<AccountQueue<UpstreamFailure>>, of queue: AdmissionQueue<AccountQueue<UpstreamFailure>>
    ) {
        (self.place, self.queue) = (place, queue)
    }

    deinit { queue.leave(place) }
}
