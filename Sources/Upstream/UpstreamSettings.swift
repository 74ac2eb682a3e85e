import AdapterKit
import IPAddresses

/// One other system: where it is, and how far calls of it may go.
public struct UpstreamSettings: Sendable {
    public var name: UpstreamName
    /// The servers that may be asked. Nothing else is, whatever a redirect or a document says.
    public var origins: Set<UpstreamOrigin>
    /// Networks that are not public and may be reached all the same: a company's own.
    public var privateNetworks: [AddressRange] = []
    /// Files of further certificates (PEM) that are trusted beside the system's.
    public var trustedCertificates: [String] = []
    /// HTTP/2 where the server agrees to it (ALPN); otherwise HTTP/1.1 alone.
    public var speaksHTTP2 = false
    public var limits = UpstreamLimits()

    public init(name: UpstreamName, origins: Set<UpstreamOrigin>) {
        self.name = name
        self.origins = origins
    }
}

/// What calls of one upstream may take.
public struct UpstreamLimits: Sendable, Equatable {
    /// The whole call: names, connections, redirects and tries.
    public var deadline = Duration.seconds(10)
    /// A connection with its handshake.
    public var connect = Duration.seconds(3)
    /// How long a connection is kept without use.
    public var idle = Duration.seconds(60)
    /// Bytes of an answer's body.
    public var answer = 4 << 20
    /// Bytes of an answer's header fields.
    public var head = 64 << 10
    /// Connections to one server at once; more calls wait, within their deadline.
    public var connections = 16
    /// Calls under way at once; more are refused.
    public var calls = 256
    /// How many redirects are followed.
    public var redirects = 5
    /// How often an idempotent call is tried, the first time included.
    public var tries = 3
    /// Before the second try; it doubles.
    public var pause = Duration.milliseconds(100)
    /// After so many failures in a row a server is not asked for a while.
    public var failures = 5
    /// How long it is not asked; it doubles with every try that fails after it.
    public var rest = Duration.seconds(5)
    public var longestRest = Duration.seconds(120)
    /// How many of a name's addresses are tried.
    public var addresses = 4
    /// How long a name's addresses are believed.
    public var names = Duration.seconds(30)
    /// Servers' addresses to which connections are kept.
    public var servers = 32

    public init() {}
}
