import ServiceLifecycle
import Synchronization
import UnixSignals

/// SIGUSR2: everything ends as it does on SIGTERM, and then the program begins anew on the same socket, in which whoever
/// comes meanwhile waits.
///
/// To be made first of all: the signal ends a process that has not said what it means. One that comes while the host is
/// still starting is remembered.
final class Restart: Sendable {
    private let asked = Atomic<Bool>(false)
    private let signals: UnixSignalsSequence

    init() async { signals = await UnixSignalsSequence(trapping: .sigusr2) }

    var isAsked: Bool { asked.load(ordering: .acquiring) }

    func onSignal(stopping group: ServiceGroup, during body: @Sendable @escaping () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                for await _ in self.signals {
                    self.asked.store(true, ordering: .releasing)
                    await group.triggerGracefulShutdown()
                }
            }
            try await body()
            tasks.cancelAll()
        }
    }
}
