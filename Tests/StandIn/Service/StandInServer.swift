import AdapterKit
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// What a stand-in is started with. Counts beyond the limits are refused by ``StandInServer/init(_:)``.
package struct StandInSettings: Sendable {
    package var host = "127.0.0.1"
    /// 0: a free one.
    package var port = 9090
    package var employees = 500
    package var users = 200
    package var verses = 154
    package var students = 1_000
    /// Entities of one page of OData.
    package var odataPageSize = 1_000
    /// Whether SAP's paths need the portal's cookie.
    package var requiresSignIn = false
    package var seed: UInt64 = 1
    /// Whether an idempotency key that comes again gets the first answer again.
    package var honoursKeys = true
    /// Distinguishes this run's change tokens from those of others; letters and digits.
    package var run: String

    package init(run: String) {
        self.run = run
    }

    /// What is wrong with it; nil: nothing.
    package var problem: String? {
        let most = SystemOfRecord.most
        for (name, value, limit) in [
            ("employees", employees, most.employees), ("users", users, most.users), ("verses", verses, most.verses),
            ("students", students, most.students), ("port", port, 65_535),
        ] where !(0...limit).contains(value) {
            return "\(name) is a number from 0 to \(limit)."
        }
        guard (1...SystemOfRecord.largestPage).contains(odataPageSize) else {
            return "odata-page is a number from 1 to \(SystemOfRecord.largestPage)."
        }
        return nil
    }
}

/// Serves a ``StandInService`` over HTTP/1.1.
package struct StandInServer: Sendable {
    private let channel: any Channel

    /// Connections at once; further ones are closed.
    static let connections = 512
    /// The longest body of a request.
    static let bodyBytes = 1 << 20
    /// How long a connection stays without a byte in either direction: a hang ends then.
    static let idle = TimeAmount.seconds(600)

    /// Begins to listen. Throws the system's error where it cannot.
    package init(_ settings: StandInSettings) async throws {
        let service = StandInService(
            SystemOfRecord.Settings(
                employees: settings.employees, users: settings.users, verses: settings.verses, seed: settings.seed,
                honoursKeys: settings.honoursKeys, run: settings.run, students: settings.students,
                odataPageSize: settings.odataPageSize, requiresSignIn: settings.requiresSignIn))
        let open = OpenConnectionCount()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                guard open.enter(limit: Self.connections) else { return channel.close() }
                channel.closeFuture.whenComplete { _ in open.leave() }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(IdleStateHandler(allTimeout: Self.idle))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(StandInHandler(service))
                }
            }
            .bind(host: settings.host, port: settings.port).get()
    }

    /// Where it listens.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Returns when it has stopped.
    package func run() async throws { try await channel.closeFuture.get() }

    package func stop() async { try? await channel.close() }
}

private final class OpenConnectionCount: Sendable {
    private let count = Mutex(0)

    func enter(limit: Int) -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}
