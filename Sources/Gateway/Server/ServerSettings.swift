import AdapterKit
import HTTPServer
import IPAddresses

/// The configuration of a ``GatewayServer``, each value by its name in the configuration reference.
public struct ServerSettings: Sendable {
    public var address: ListenAddress
    /// Others are refused before anything is looked up; nil: it answers for every host.
    public var hosts: KnownHosts?
    /// `http.deadlines.head`: how long a connection may stay idle or take to send a request's head.
    public var idle = Duration.seconds(30)
    /// `http.deadlines.request`: from the head to the answer.
    public var request = Duration.seconds(30)
    /// The time that the rest of a body is waited for; nil: until the request's deadline.
    public var body: Duration?
    /// `http.deadlines.write`: over so long a caller takes ``writeRate`` bytes a second of its answer at least.
    public var write = Duration.seconds(30)
    /// `http.deadlines.halfClosed`: how long a streamed answer may bring nothing to a caller that has closed its side.
    public var halfClosed = Duration.seconds(5)
    /// `http.limits.writeRate`
    public var writeRate = 1 << 10
    /// `http.limits.readRate`: bytes a second that a body comes with at least.
    public var readRate = 512
    /// nil: plain HTTP.
    public var certificate: ServerCertificate?
    /// `http.trustedProxies`: whose `X-Forwarded-For` is believed.
    public var trustedProxies: [AddressRange] = []
    /// `http.limits.connections`: further connections are answered 503.
    public var connections = 20_000
    /// `http.limits.connectionsPerAddress`: of one address; 0: half of all.
    public var connectionsPerAddress = 0
    /// Whether a stop closes connections at once on which nothing is asked.
    public var closesIdleAtOnce = false
    /// Whether the steps of every request are wanted in its ``AccessRecord``, not of slow ones alone.
    public var wantsSteps: (@Sendable () -> Bool)?
    /// Called for every request; must not block. Nil: there is no access log.
    public var accessLog: (@Sendable (AccessRecord) -> Void)?

    public init(address: ListenAddress) {
        self.address = address
    }

    func configuration(_ limits: GatewayLimits) -> ServerConfiguration {
        var configuration = ServerConfiguration(
            address: address, certificate: certificate, idle: idle, write: write, writeRate: writeRate,
            readRate: readRate, connections: connections, head: HeadLimits(fields: limits.fields, bytes: limits.head),
            target: limits.uri, chunk: limits.chunk,
            peers: PeerAddress(proxies: trustedProxies, isSecure: certificate != nil))
        configuration.connectionsPerAddress = connectionsPerAddress
        configuration.halfClosed = halfClosed
        configuration.closesIdleAtOnce = closesIdleAtOnce
        return configuration
    }
}
