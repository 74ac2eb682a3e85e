import Gateway
import Identity
import Logging
import ServiceLifecycle
import SyncEngine

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

/// Wakes live streams. The first to stop: the front door waits for their connections.
struct LiveService: Service {
    let sync: SyncServices
    let feeds: FeedServices

    func run() async throws {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await sync.run() }
                    group.addTask { await feeds.run() }
                }
            }
        } onGracefulShutdown: {
            sync.stop()
        }
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

/// Removes the log as far as it is older than the offline window, every hour.
struct CompactionService: Service {
    let upkeep: StoreUpkeep
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: .seconds(3600))
                do {
                    let done = try await upkeep.compact(dryRun: false)
                    logger.info("log compacted", metadata: ["floor": "\(done.floor)", "entries": "\(done.entries)"])
                } catch {
                    logger.warning("log compaction failed", metadata: ["detail": "\(error)"])
                }
            }
        }
    }
}
