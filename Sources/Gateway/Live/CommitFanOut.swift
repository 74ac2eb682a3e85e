import NIOCore
import RecordStorage

/// Wakes the sender of a kind of live streams after commits of the store: one fan-out for sync streams and for every feed.
///
/// Any number of commits that happen while the sender works are one call, so the sender asks the store how far it is. The
/// calls of one fan-out do not overlap.
final class CommitFanOut: Sendable {
    private let commits: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    /// Commits from now on are noted, before ``run(onCommit:everySecond:)`` too.
    init(of store: any Store) {
        (commits, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        store.observe(self) { fanOut, _ in fanOut.signal.yield() }
    }

    /// Until it is cancelled. Called once.
    func run(
        onCommit: @escaping @Sendable () async -> Void, everySecond: @escaping @Sendable () -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in self.commits { await onCommit() }
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil { everySecond() }
            }
        }
    }
}

/// Deliveries by the event loop on which they are written: each loop is entered once.
struct DeliveriesByLoop<Delivery> {
    private var groups: [ObjectIdentifier: (loop: any EventLoop, deliveries: [Delivery])] = [:]

    mutating func append(_ delivery: Delivery, on loop: any EventLoop) {
        groups[ObjectIdentifier(loop), default: (loop, [])].deliveries.append(delivery)
    }

    /// In the order in which they were appended, for each loop.
    var all: [(loop: any EventLoop, deliveries: [Delivery])] { Array(groups.values) }
}
