import AdapterKit
import Synchronization

/// The life of one generation of an adapter: attempts to start it, deadlines and retries, its work beside its calls, and its
/// stop. A state machine; ``AdapterSupervisor`` executes it.
///
/// A start that exceeds its deadline is cancelled, and not called again before it has returned: an adapter is never
/// started twice at once.
struct AdapterLifecycle: Sendable {
    enum Phase: Sendable, Equatable {
        /// The first attempt is under way.
        case starting
        case running
        /// The last attempt failed, and why. It is attempted again.
        case failed(String)
        case stopped
    }

    /// The work of an adapter beside its calls.
    enum Work: Sendable, Equatable {
        case notWanted
        case wanted
        /// It has ended, or is never to begin.
        case ended
    }

    /// The step after an attempt.
    enum Next: Equatable {
        case retry(after: Duration)
        /// It runs, or the gateway stops.
        case nothing
    }

    private(set) var phase = Phase.starting
    private(set) var work = Work.notWanted
    /// Times that the start was called.
    private(set) var attempts = 0
    /// When it is called again; nil: it is under way, or has succeeded.
    private(set) var nextAttempt: WireDate?
    private var limits: AdapterLimits
    private var failures = 0
    /// Whether the attempt under way was cancelled, so that what it throws is no reason.
    private var isLate = false

    init(limits: AdapterLimits) {
        self.limits = limits
    }

    /// From the next attempt on.
    mutating func use(_ limits: AdapterLimits) { self.limits = limits }

    /// False where the gateway stops or the adapter runs: there is nothing to be attempted.
    mutating func begin() -> Bool {
        guard phase != .stopped, phase != .running else { return false }
        attempts += 1
        isLate = false
        nextAttempt = nil
        return true
    }

    /// The start has returned, or thrown where there is a reason; in time or late.
    mutating func noteReturn(failingWith reason: String?, at now: WireDate) -> Next {
        guard phase != .stopped else { return .nothing }
        guard let reason else {
            phase = .running
            return .nothing
        }
        if !isLate { phase = .failed(reason) }
        let wait = limits.wait(afterFailures: failures)
        failures += 1
        nextAttempt = WireDate(secondsSinceReferenceDate: now.secondsSinceReferenceDate + wait / .seconds(1))
        return .retry(after: wait)
    }

    /// The start has not returned in time.
    mutating func noteDeadline() {
        guard phase != .stopped else { return }
        isLate = true
        phase = .failed("It has not started within \(limits.start).")
    }

    /// Whether its work beside its calls may begin: it runs, and has not begun or ended it.
    mutating func activate() -> Bool {
        guard phase == .running, work == .notWanted else { return false }
        work = .wanted
        return true
    }

    /// Its work beside its calls ends, and begins no more.
    mutating func drain() { work = .ended }

    /// Whether the adapter runs, so that its `stop` has to be called.
    mutating func stop() -> Bool {
        defer { phase = .stopped }
        nextAttempt = nil
        return phase == .running
    }
}

/// The times that adapters may take to start and to stop, and after which a failed start is attempted again.
public struct AdapterLimits: Sendable, Equatable {
    /// `limits.adapterStart`: after that a start has failed, and is cancelled.
    public var start: Duration
    /// `limits.adapterStartWait`: how long the gateway waits for adapters before it says that it is ready.
    public var startWait: Duration
    /// `limits.adapterRetry`: the longest wait between two attempts; the first is a second, and each is twice the last.
    public var longestRetry: Duration
    /// `limits.adapterStop`: after that an adapter that stops is left behind.
    public var stop: Duration

    public init(
        start: Duration = .seconds(60), startWait: Duration = .seconds(10), longestRetry: Duration = .seconds(60),
        stop: Duration = .seconds(5)
    ) {
        self.start = start
        self.startWait = startWait
        self.longestRetry = longestRetry
        self.stop = stop
    }

    func wait(afterFailures failures: Int) -> Duration {
        min(longestRetry, .seconds(1) * (1 << min(failures, Self.mostDoublings)))
    }

    private static let mostDoublings = 20
}

/// Whether a generation of an adapter can be called, and its state for operators. Read with every request.
public final class AdapterStatus: Sendable {
    private let isRunningNow = Atomic<Bool>(false)
    private let lifecycle: Mutex<AdapterLifecycle>
    private let slot: AdapterSlot

    init(limits: AdapterLimits, slot: AdapterSlot = AdapterSlot()) {
        lifecycle = Mutex(AdapterLifecycle(limits: limits))
        self.slot = slot
    }

    /// Whether calls reach it.
    var isRunning: Bool { isRunningNow.load(ordering: .acquiring) && !slot.isDisabled }

    var current: AdapterLifecycle { lifecycle.withLock { $0 } }

    /// As operators read it.
    var word: String { slot.isDisabled ? "disabled" : current.phase.word }

    /// Throws `adapter.unavailable` unless the adapter runs.
    func requireRunning() throws(PorticoError) {
        guard !isRunning else { return }
        throw PorticoError(
            .adapterUnavailable, "This service is not available at the moment.", retryAfter: Self.retryAfter)
    }

    /// The whole answer of the change.
    func change<Result>(_ body: (inout AdapterLifecycle) -> Result) -> Result {
        lifecycle.withLock { machine in
            defer { isRunningNow.store(machine.phase == .running, ordering: .releasing) }
            return body(&machine)
        }
    }

    /// Seconds. May be shorter than the wait until the next attempt; such a retry fails at little cost.
    private static let retryAfter = 5
}

extension AdapterLifecycle.Phase {
    /// As operators read it.
    var word: String {
        switch self {
        case .starting: "starting"
        case .running: "running"
        case .failed: "failed"
        case .stopped: "stopped"
        }
    }
}
