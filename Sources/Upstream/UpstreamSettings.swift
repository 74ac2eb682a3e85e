import AdapterKit
import IPAddresses
import NIOSSL

/// One other system: where it is, and how far calls of it may go.
public struct UpstreamSettings: Sendable {
    public var name: UpstreamName
    /// Where it is. The path ends in a slash.
    public var url: UpstreamAddress
    /// The servers that may be asked. Nothing else is, whatever a redirect or a document says.
    public var origins: Set<UpstreamOrigin>
    /// Networks that are not public and may be reached all the same: a company's own.
    public var privateNetworks: [AddressRange] = []
    /// Files of further certificates (PEM) that are trusted beside the system's.
    public var trustedCertificates: [String] = []
    /// The certificate that the gateway shows to the server in the TLS handshake; nil: none.
    public var clientCertificate: ClientCertificate?
    public var limits = UpstreamLimits()
    /// May ask the server of `url` alone.
    public init(name: UpstreamName, url: UpstreamAddress) {
        self.name = name
        self.url = url
        origins = [url.origin]
    }
}

extension UpstreamSettings {
    /// Whether `url` names an address, not a server by its name, that no call may reach.
    public var refusesItsAddress: Bool {
        guard let address = IPAddress(url.origin.host) else { return false }
        return !DestinationRule(allowed: privateNetworks).allows(address)
    }

    /// Whether the file has certificates in PEM, and nothing that cannot be read among them.
    public static func hasCertificates(_ file: String) -> Bool {
        ((try? NIOSSLCertificate.fromPEMFile(file)) ?? []).isEmpty == false
    }
}

/// A client certificate with its key (RFC 8446, section 4.4.2).
public struct ClientCertificate: Sendable {
    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource

    /// `file`: the certificate, then the intermediate ones, in PEM; `key`: in PEM. Throws where one cannot be read.
    public init(file: String, key: Secret) throws {
        chain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
        self.key = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.reveal().utf8), format: .pem))
    }
}

/// Limits of one upstream's calls.
public struct UpstreamLimits: Sendable, Equatable {
    /// The whole call: the queue, names, connections, redirects, tries and the reading of the body.
    public var deadline = Duration.seconds(10)
    /// The time that a request which no caller waits for, such as a refresh, may ask for instead.
    public var longDeadline = Duration.seconds(900)
    /// A connection with its handshake.
    public var connect = Duration.seconds(3)
    /// The head of an answer once there is a connection, and each further piece of its body.
    public var firstByte = Duration.seconds(10)
    /// A server that has had so long and no answer is taken for one that fails: most of what it has by these limits. A caller
    /// with a shorter deadline learns nothing about it.
    var patience: Duration { min(firstByte, deadline) * 9 / 10 }
    /// The time that a connection is kept without use.
    public var idle = Duration.seconds(60)
    /// Bytes of an answer's body after decompression.
    public var answer = 16 << 20
    /// Bytes of an answer's header fields.
    public var head = 64 << 10
    /// Calls under way at once, which is also how many connections to one server there are.
    public var connections = 16
    /// Calls that wait for their turn; more are refused.
    public var queue = 64
    /// Redirects that are followed.
    public var redirects = 5
    /// Tries of an idempotent call, the first one included.
    public var tries = 3
    /// Per cent of all calls that may be tries again, beyond a burst of ten.
    public var retries = 20
    /// The longest pause before the second try; it doubles. The pause itself is drawn from zero up to it.
    public var pause = Duration.milliseconds(100)
    /// After so many failures in a row a server is not asked for a while.
    public var failures = 5
    /// The time that it is not asked; it doubles with every try that fails after it.
    public var rest = Duration.seconds(5)
    public var longestRest = Duration.seconds(120)
    /// Addresses of a name that are tried.
    public var addresses = 4
    /// The time that a name's addresses are believed.
    public var names = Duration.seconds(30)
    /// Servers' addresses to which connections are kept.
    public var servers = 32

    public init() {}
}
