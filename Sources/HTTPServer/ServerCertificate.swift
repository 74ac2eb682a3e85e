import Glibc
import NIOCore
import NIOHTTP2
import NIOSSL
import Synchronization

/// The TLS certificate, and whether client certificates are requested. Reloaded without a restart.
///
/// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only (RFC 9325, sections 3.1 and 4.2).
public final class ServerCertificate: Sendable {
    /// Paths of PEM files.
    public struct Files: Sendable, Equatable {
        /// `http.tls.certificate`: the certificate, then those between it and a root.
        public var certificate: String
        /// `http.tls.key`
        public var key: String
        /// `http.tls.clientAuthorities`: who vouches for callers' certificates; nil: none is asked for.
        public var clientAuthorities: String?
        /// Whether a caller without a certificate is refused in the handshake, where ``clientAuthorities`` are named.
        public var requiresClientCertificate: Bool

        public init(
            certificate: String, key: String, clientAuthorities: String? = nil, requiresClientCertificate: Bool = true
        ) {
            self.certificate = certificate
            self.key = key
            self.clientAuthorities = clientAuthorities
            self.requiresClientCertificate = requiresClientCertificate
        }

        public var all: [String] { [certificate, key] + (clientAuthorities.map { [$0] } ?? []) }
    }

    /// The material that handshakes are made with.
    struct Loaded: Sendable {
        let context: NIOSSLContext
        /// Nil: no client certificates are asked for.
        let authorities: ClientAuthorities?
    }

    public let files: Files
    private let now: @Sendable () -> Int
    private let loaded: Mutex<Loaded>

    /// `now`: seconds since 1970. Throws ``Unusable``.
    public init(_ files: Files, now: @escaping @Sendable () -> Int = { time(nil) }) throws {
        self.files = files
        self.now = now
        loaded = Mutex(try Self.load(files))
    }

    /// Connections from now on get what the files say; those that are open go on. Throws ``Unusable`` and keeps what it
    /// has where the files do not fit together, as halfway through their replacement.
    public func reload() throws {
        let fresh = try Self.load(files)
        loaded.withLock { $0 = fresh }
    }

    /// Each one that is loaded has keys of its own for session tickets, so that no session is resumed that began with
    /// other authorities.
    var current: Loaded { loaded.withLock { $0 } }

    /// Whether a certificate that was verified in the handshake holds now: it is within its validity, and the authorities
    /// are those of the handshake. A resumed session brings the certificate of the first one without verifying it again,
    /// and a connection may outlast it.
    package func holds(_ certificate: PeerCertificate) -> Bool {
        certificate.validity.contains(now()) && current.authorities == certificate.authorities
    }

    /// Files that are missing, no PEM, or do not belong together.
    public struct Unusable: Error, CustomStringConvertible {
        public let description: String
    }

    private static func load(_ files: Files) throws -> Loaded {
        for path in files.all {
            if let reason = unreadable(path) { throw Unusable(description: "\(path) cannot be read: \(reason).") }
        }
        do {
            let authorities = try files.clientAuthorities.map {
                ClientAuthorities(certificates: try certificates($0), isRequired: files.requiresClientCertificate)
            }
            return Loaded(
                context: try NIOSSLContext(configuration: configuration(files, authorities)), authorities: authorities)
        } catch let error as Unusable {
            throw error
        } catch {
            throw Unusable(
                description:
                    "\(files.certificate) and \(files.key) cannot be used for TLS; is the key the certificate's?")
        }
    }

    /// It does not wait, as a pipe without a writer would have it.
    private static func unreadable(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return String(cString: strerror(errno)) }
        return status.st_mode & S_IFMT == S_IFREG ? nil : "it is no regular file"
    }

    private static func certificates(_ path: String) throws -> [NIOSSLCertificate] {
        guard let found = try? NIOSSLCertificate.fromPEMFile(path), !found.isEmpty else {
            throw Unusable(description: "\(path) holds no certificate (PEM).")
        }
        return found
    }

    private static func privateKey(_ path: String) throws -> NIOSSLPrivateKeySource {
        guard let key = try? NIOSSLPrivateKey(file: path, format: .pem) else {
            throw Unusable(description: "\(path) holds no private key without a password (PEM).")
        }
        return .privateKey(key)
    }

    private static func configuration(_ files: Files, _ authorities: ClientAuthorities?) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try certificates(files.certificate).map { .certificate($0) },
            privateKey: try privateKey(files.key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = suites
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        if let authorities {
            configuration.trustRoots = .certificates(authorities.certificates)
            configuration.certificateVerification =
                authorities.isRequired ? .noHostnameVerification : .optionalVerification
        }
        return configuration
    }

    private static let suites: [NIOTLSCipher] = [
        .TLS_AES_128_GCM_SHA256, .TLS_AES_256_GCM_SHA384, .TLS_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]
}

/// The authorities that vouch for clients' certificates.
struct ClientAuthorities: Sendable, Equatable {
    let certificates: [NIOSSLCertificate]
    /// Whether a client without a certificate is refused in the handshake.
    let isRequired: Bool
}

/// The certificate that a client showed, verified in the handshake in which it did.
package struct PeerCertificate: Sendable {
    package let der: [UInt8]
    /// In seconds since 1970.
    let validity: ClosedRange<Int>
    /// The authorities that vouched for it then.
    let authorities: ClientAuthorities

    /// Nil where the client of the channel showed none. On the channel's event loop, after the handshake.
    init?(of channel: any Channel, verifiedBy authorities: ClientAuthorities) {
        guard let shown = try? channel.pipeline.syncOperations.nioSSL_peerCertificate(),
            let der = try? shown.toDERBytes(), shown.notValidBefore <= shown.notValidAfter
        else { return nil }
        self.der = der
        validity = shown.notValidBefore...shown.notValidAfter
        self.authorities = authorities
    }

    /// Whether its connection is there for clients with a certificate alone.
    package var isRequired: Bool { authorities.isRequired }
}
