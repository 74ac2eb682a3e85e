import AdapterKit
import Foundation
import Gateway
import HTTPServer
import Identity
import Logging
import RecordStorage
import ServiceLifecycle
import Synchronization

/// Keeps the gateways' deadlines. It is the last to stop, since requests under way still have theirs.
struct DeadlineService: Service {
    let gateways: [Gateway]

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                for gateway in gateways { group.addTask { await gateway.keepDeadlines() } }
            }
        }
    }
}

/// Keeps the figures of the last minutes.
struct FigureService: Service {
    let figures: FigureHistory

    func run() async throws { await cancelWhenGracefulShutdown { await figures.run() } }
}

/// Runs the live streams. The first to stop: the listener waits for their connections.
struct LiveService: Service {
    let sync: CurrentSync
    let liveFeeds: AdapterTasks

    func run() async throws {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await liveFeeds.run() }
                    group.addTask { await runSync() }
                }
            }
        } onGracefulShutdown: {
            sync.value.stop()
        }
    }

    /// Those of each configuration, until the next one.
    private func runSync() async {
        var (current, changes) = (SyncServices?.some(sync.value), sync.changes.makeAsyncIterator())
        while let running = current {
            current = await withTaskGroup(of: Void.self) { group in
                group.addTask { await running.run() }
                let next = await changes.next()
                group.cancelAll()
                return next
            }
        }
    }
}

/// Starts the adapters and attempts again what fails, then refreshes their mirrors, until it is cancelled. Requests are served
/// meanwhile.
struct AdapterService: Service {
    let host: Host
    let announcement: Announcement

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await host.supervisor.run() }
                group.addTask {
                    await host.supervisor.waitUntilSettled()
                    announcement.noteAdaptersSettled()
                    await host.supervisor.mirrorTasks.run()
                }
            }
        }
    }
}

/// Looks from time to time whether the store can be written, so that readiness reports it; logs when that changes.
struct StoreWatchService: Service {
    let watch: StoreWatch
    let interval: Duration
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var known: String?
            while true {
                try await Task.sleep(for: interval)
                // Before too: what a probe ends at once has been a problem.
                log(watch.problem, after: &known)
                await watch.store.probe()
                log(watch.problem, after: &known)
            }
        }
    }

    private func log(_ problem: String?, after known: inout String?) {
        if let problem, problem != known {
            logger.critical("store cannot be written", metadata: ["problem": "\(problem)"])
        } else if problem == nil, known != nil {
            logger.notice("store can be written again")
        }
        known = problem
    }
}

/// What identity does every minute: ends, rotations, notes of use.
struct MaintenanceService: Service {
    let host: Host
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: .seconds(60))
                do {
                    try await host.identity.maintain()
                } catch {
                    logger.warning("identity maintenance failed", metadata: ["detail": "\(error)"])
                }
            }
        }
    }
}

/// Removes what is older than its window, every hour: the log's beginning, losing copies, attachments that nothing names.
struct CompactionService: Service {
    let current: Current<HostGeneration>
    let logger: Logger

    private var maintenance: StoreMaintenance { current.value.maintenance }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: .seconds(3600))
                await attempt("log compaction failed") {
                    let done = try await maintenance.compact(dryRun: false)
                    logger.info(
                        "log compacted",
                        metadata: ["floor": "\(done.floor)", "entries": .stringConvertible(done.entries)])
                }
                await attempt("the removal of losing copies failed") {
                    let count = try await maintenance.forgetKeptCopies(dryRun: false)
                    logger.info("losing copies removed", metadata: ["count": .stringConvertible(count)])
                }
                await attempt("the removal of attachments failed") {
                    let done = try await maintenance.sweepAttachments()
                    logger.info(
                        "attachments removed",
                        metadata: [
                            "attachments": "\(done.attachments)", "uploads": "\(done.uploads)",
                            "bytes": "\(done.bytes)",
                        ])
                }
            }
        }
    }

    private func attempt(_ failure: Logger.Message, _ body: () async throws -> Void) async {
        do { try await body() } catch { logger.warning(failure, metadata: ["detail": "\(error)"]) }
    }
}

/// Takes up a renewed certificate when its files change, and when ``SignalService`` asks for it.
struct CertificateService: Service {
    let current: Current<ServerCertificate>
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown { try await onChange() }
    }

    private func onChange() async throws {
        var (certificate, known) = (current.value, marks())
        while true {
            try await Task.sleep(for: .seconds(1))
            let now = marks()
            // Another one has just read its files.
            if current.value === certificate, now != known { reload() }
            (certificate, known) = (current.value, now)
        }
    }

    func reload() {
        do {
            try current.value.reload()
            logger.info("certificate renewed")
        } catch {
            logger.error("certificate not renewed", metadata: ["detail": "\(error)"])
        }
    }

    /// What changes when a file is replaced or written; the path of a symbolic link is followed.
    private func marks() -> [String] {
        current.value.files.all.map { path in
            let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            let date = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
            return "\(file) \(date) \(attributes?[.size] ?? 0) \(attributes?[.systemFileNumber] ?? 0)"
        }
    }
}

/// The public listener. At a socket that clients know already they wait for the adapters' starts: before, they would get
/// 503 of a gateway that has only been restarted.
struct PublicListenerService: Service {
    let server: GatewayServer
    /// Nil where no client knows the socket yet.
    let announcement: Announcement?

    func run() async throws {
        if let announcement {
            await cancelWhenGracefulShutdown { await announcement.waitUntilSettled() }
        }
        try await server.run()
    }
}

/// The line on standard output that scripts wait for: once the gateway listens, and its adapters run or have failed. From
/// then on it is ready.
final class Announcement: Sendable {
    private let readiness: Readiness
    private let state = Mutex((line: String?.none, areAdaptersSettled: false))
    private let settlement = AsyncStream<Void>.makeStream()

    init(readiness: Readiness) {
        self.readiness = readiness
    }

    func listening(_ line: String) { change { $0.line = line } }

    func noteAdaptersSettled() {
        change { $0.areAdaptersSettled = true }
        settlement.continuation.finish()
    }

    /// Returns once adapters run or have failed. From then on the gateway is ready. For one caller.
    func waitUntilSettled() async {
        for await _ in settlement.stream {}
        readiness.isServing = true
    }

    private func change(_ body: (inout (line: String?, areAdaptersSettled: Bool)) -> Void) {
        let line = state.withLock { state -> String? in
            body(&state)
            return state.areAdaptersSettled ? state.line : nil
        }
        guard let line else { return }
        readiness.isServing = true
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
