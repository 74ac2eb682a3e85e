import FoundationEssentials

/// Finds a worker that answers heartbeats and no calls: one whose threads all spin or wait for each other. A state machine
/// that is asked with each heartbeat.
///
/// Calls that expire are no proof alone, since the system that they wait for may be slow, and their callers may have gone
/// soon. What counts is the time in which a call waits. One of which nothing came while a call had all of its time, which is
/// as long as a heartbeat's at least, and nothing from then to the second heartbeat at which a call waits, is broken: it has not even answered that the call was cancelled.
/// One that takes the processor all of the time is held for broken soon, any other late.
struct StallDetector: Sendable {
    /// Calls of a worker that expired, while none was answered.
    struct Stall: Sendable, Equatable {
        /// When the first of them expired.
        var since: ContinuousClock.Instant
        var expired: Int
    }

    /// A call that had all of its time, in which nothing of the worker came.
    struct Silence: Sendable, Equatable {
        /// The number that had come when it was made, and when it ended.
        var received: Int
        /// That the call had, with what it waited for its turn.
        var time: Duration
    }

    private let limits: SupervisionLimits
    private var watch: Watch?
    /// At the last heartbeat, if a call waited then.
    private var silence: Silence?

    /// The heartbeats since the first call expired.
    private struct Watch {
        let since: ContinuousClock.Instant
        var seen: ContinuousClock.Instant
        var seenDemand: Duration
        /// Between heartbeats at which a call waited.
        var waited = Duration.zero
        var demand = Duration.zero
    }

    init(limits: SupervisionLimits) {
        self.limits = limits
    }

    /// Why the worker is to be killed for a silence that goes on; nil: it is not. `isCalled`: it has a call now.
    mutating func reason(_ silence: Silence?, isCalled: Bool) -> String? {
        // A call that came with next to nothing of its time left says nothing.
        guard let silence, isCalled, silence.time >= limits.heartbeatInterval else {
            self.silence = nil
            return nil
        }
        defer { self.silence = silence }
        guard self.silence?.received == silence.received else { return nil }
        return "Nothing came from the worker in the \(silence.time) that a call had, and nothing since."
    }

    /// Why the worker is to be killed; nil: it is not. `isCalled`: it has a call now. `processorDemand`: of all its life.
    mutating func reason(
        _ stall: Stall?, isCalled: Bool, processorDemand: Duration, at now: ContinuousClock.Instant
    ) -> String? {
        guard let stall else {
            watch = nil
            return nil
        }
        guard var watch, watch.since == stall.since else {
            watch = Watch(since: stall.since, seen: now, seenDemand: processorDemand)
            return nil
        }
        if isCalled {
            watch.waited += now - watch.seen
            watch.demand += processorDemand - watch.seenDemand
        }
        (watch.seen, watch.seenDemand) = (now, processorDemand)
        self.watch = watch
        guard isCalled, stall.expired >= limits.stallCalls else { return nil }
        if watch.waited >= limits.spinTolerance, watch.demand >= watch.waited * Self.busyShare {
            return "The worker used the processor, and \(stall.expired) calls expired with none answered."
        }
        guard watch.waited >= limits.stallTolerance else { return nil }
        return "The worker let \(stall.expired) calls expire with none answered."
    }

    private static let busyShare = 0.8
}

extension WorkerProcess {
    /// The time for which its threads have run or were ready to run; zero where it has ended. Time on the processor alone
    /// would depend on what else the machine does. Source: Documentation/scheduler/sched-stats.rst.
    var processorDemand: Duration {
        let folder = "/proc/\(id)/task"
        guard exit == nil, let threads = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return .zero
        }
        var nanoseconds = 0.0
        for thread in threads {
            guard let text = try? String(contentsOfFile: "\(folder)/\(thread)/schedstat", encoding: .utf8) else {
                continue
            }
            for field in text.split(separator: " ").prefix(2) { nanoseconds += Double(field) ?? 0 }
        }
        return .seconds(nanoseconds / 1e9)
    }
}
