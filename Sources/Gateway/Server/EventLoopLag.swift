import CoreMetrics
import NIOCore
import ServiceLifecycle
import Synchronization
import Telemetry

/// Measures every second how late the event loops of a listener begin what is due: what blocks a loop delays all of its
/// connections by as much.
public struct EventLoopLagService: Service {
    private let probes: [EventLoopProbe]

    /// Of the server's event loops.
    public init(_ server: GatewayServer, in registry: MetricRegistry) {
        probes = server.eventLoops.enumerated().map { number, loop in
            EventLoopProbe(loop, MetricCatalogue.loopLag.timer(["\(number)"], in: registry))
        }
    }

    public func run() async throws {
        for probe in probes { probe.schedule() }
        try? await cancelWhenGracefulShutdown {
            while true { try await Task.sleep(for: .seconds(3_600)) }
        }
        for probe in probes { probe.stop() }
    }
}

private final class EventLoopProbe: Sendable {
    private static let interval = TimeAmount.seconds(1)

    private let loop: any EventLoop
    private let timer: CoreMetrics.Timer
    private let isStopped = Atomic<Bool>(false)

    init(_ loop: any EventLoop, _ timer: CoreMetrics.Timer) {
        self.loop = loop
        self.timer = timer
    }

    func schedule() {
        let due = NIODeadline.now() + Self.interval
        loop.scheduleTask(deadline: due) { [self] in
            guard !isStopped.load(ordering: .relaxed) else { return }
            timer.recordNanoseconds(max(0, (NIODeadline.now() - due).nanoseconds))
            schedule()
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}
