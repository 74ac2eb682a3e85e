import AdapterKit
import Synchronization

/// Whether an adapter can be called, and what is to be told of it. Asked with every request.
public final class AdapterStatus: Sendable {
    private let isRunningNow = Atomic<Bool>(false)
    private let lifecycle: Mutex<AdapterLifecycle>

    init(limits: AdapterLimits) {
        lifecycle = Mutex(AdapterLifecycle(limits: limits))
    }

    var isRunning: Bool { isRunningNow.load(ordering: .acquiring) }

    var current: AdapterLifecycle { lifecycle.withLock { $0 } }

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

    /// Seconds. Whoever comes earlier than the next attempt comes in vain once more, which costs little.
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
