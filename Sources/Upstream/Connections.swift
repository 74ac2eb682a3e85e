import AdapterKit
import AsyncHTTPClient
import IPAddresses
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Pools of connections, one for each address that a server's name led to.
///
/// AsyncHTTPClient resolves names itself when it connects, so each address has a client of its own that knows one name
/// with one address. Every connection is compared with that address once more before a request is written to it.
final class Connections: Sendable {
    private let settings: UpstreamSettings
    private let table: Mutex<ServerTable<HTTPClient>>

    init(_ settings: UpstreamSettings) {
        self.settings = settings
        table = Mutex(ServerTable(limit: settings.limits.servers))
    }

    /// A client that is not shut down traps when it goes. After ``close()`` none is left; an owner that ended early, such as
    /// a test that failed, must not take the process along.
    deinit {
        for client in table.withLock({ $0.removeAll() }) { client.shutdown { _ in } }
    }

    /// The pool of an address, in use until the lease ends.
    func lease(_ host: String, at address: IPAddress) -> Lease {
        let key = ServerTable<HTTPClient>.Key(host: host, address: address)
        let (client, closing) = table.withLock { $0.take(key) { make(host, address) } }
        for unused in closing { unused.shutdown { _ in } }
        return Lease(client: client) { [self] in table.withLock { $0.release(key) } }
    }

    /// The use of a pool by one exchange. It ends with the last reference.
    final class Lease: Sendable {
        let client: HTTPClient
        private let release: @Sendable () -> Void

        init(client: HTTPClient, release: @escaping @Sendable () -> Void) {
            self.client = client
            self.release = release
        }

        deinit { release() }
    }

    /// After the last call.
    func close() async {
        for client in table.withLock({ $0.removeAll() }) { try? await client.shutdown() }
    }

    private func make(_ host: String, _ address: IPAddress) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.dnsOverride = [host: address.description]
        let check: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            let isRight = channel.remoteAddress?.ipAddress.flatMap(IPAddress.init) == address
            return isRight
                ? channel.eventLoop.makeSucceededVoidFuture() : channel.eventLoop.makeFailedFuture(UnexpectedAddress())
        }
        configuration.http1_1ConnectionDebugInitializer = { channel in
            check(channel).flatMap { ResponseCheckHandler.add(toConnection: channel) }
        }
        configuration.http2StreamChannelDebugInitializer = ResponseCheckHandler.add(toStream:)
        configuration.http2ConnectionDebugInitializer = check
        configuration.httpVersion = .automatic
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(settings.limits.connect)
        configuration.connectionPool.idleTimeout = TimeAmount(settings.limits.idle)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.limits.connections
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tlsConfiguration = tls()
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }

    /// TLS 1.2 at least, with authenticated encryption.
    private func tls() -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        tls.additionalTrustRoots = settings.trustedCertificates.map { .file($0) }
        if let certificate = settings.clientCertificate {
            tls.certificateChain = certificate.chain
            tls.privateKey = certificate.key
        }
        return tls
    }

    /// A connection that does not lead where it should.
    struct UnexpectedAddress: Error {}
}

/// Which servers have connections, and who uses them. What has to make room is what was used longest ago and is not in
/// use now. A state machine; ``Connections`` makes and closes what it names.
struct ServerTable<Server: Sendable>: Sendable {
    struct Key: Sendable, Hashable {
        /// The host of TLS's certificate and of the `Host` field.
        let host: String
        let address: IPAddress
    }

    private struct Entry {
        let server: Server
        var users: Int
        var lastUsed: UInt64
    }

    private let limit: Int
    private var entries: [Key: Entry] = [:]
    private var time: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// The server, in use from now on, and which ones to close for it.
    mutating func take(_ key: Key, make: () -> Server) -> (server: Server, closing: [Server]) {
        time += 1
        if var entry = entries[key] {
            entry.users += 1
            entry.lastUsed = time
            entries[key] = entry
            return (entry.server, [])
        }
        let server = make()
        entries[key] = Entry(server: server, users: 1, lastUsed: time)
        return (server, makeRoom())
    }

    mutating func release(_ key: Key) {
        entries[key]?.users -= 1
    }

    mutating func removeAll() -> [Server] {
        defer { entries = [:] }
        return entries.values.map(\.server)
    }

    private mutating func makeRoom() -> [Server] {
        guard entries.count > limit else { return [] }
        let unused = entries.filter { $0.value.users == 0 }.min { $0.value.lastUsed < $1.value.lastUsed }
        guard let unused else { return [] }
        entries[unused.key] = nil
        return [unused.value.server]
    }
}
