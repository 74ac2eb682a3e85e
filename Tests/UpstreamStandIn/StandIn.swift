import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server at a free port of 127.0.0.1 that answers as a test says and remembers what it was asked.
public final class StandIn: Sendable {
    public struct Request: Sendable {
        public let method: String
        /// Path and query, as they came.
        public let target: String
        public let fields: [(name: String, value: String)]
        public let body: [UInt8]

        public var text: String { String(decoding: body, as: UTF8.self) }
        public var path: String { String(target.prefix { $0 != "?" }) }
        public subscript(name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    public enum Answer: Sendable {
        case plain(Int, [(String, String)] = [], String = "")
        /// A body that never ends, in pieces as fast as they are read.
        case endless
        /// A head, then a byte now and then.
        case trickle
        /// Nothing, and the connection stays.
        case silence
        /// A head, and nothing after it.
        case headOnly
        /// These bytes, as they are, in pieces; then the connection ends.
        case bytes(Int = 200, [(String, String)] = [], [[UInt8]])
        /// The connection ends without an answer.
        case hangUp
    }

    private let channel: any Channel

    public init(_ answer: @escaping @Sendable (Request) async -> Answer) async throws {
        let remembered = Remembered()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                remembered.noteConnection()
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        StandInHandler { request in
                            remembered.note(request)
                            return await answer(request)
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        memory = remembered
        port = channel.localAddress?.port ?? 0
    }

    private let memory: Remembered

    public let port: Int
    public var address: String { "http://127.0.0.1:\(port)" }

    /// In the order in which they came.
    public var requests: [Request] { memory.all }

    /// How many there have been.
    public var connections: Int { memory.connections }

    public func stop() async {
        try? await channel.close().get()
    }

    private final class Remembered: Sendable {
        private let requests = Mutex<[Request]>([])
        var all: [Request] { requests.withLock { $0 } }
        private let count = Mutex(0)
        var connections: Int { count.withLock { $0 } }
        func noteConnection() { count.withLock { $0 += 1 } }
        func note(_ request: Request) { requests.withLock { $0.append(request) } }
    }
}
