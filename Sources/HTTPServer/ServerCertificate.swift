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

    public let files: Files
    private let context: Mutex<NIOSSLContext>

    /// Throws ``Unusable``.
    public init(_ files: Files) throws {
        self.files = files
        context = Mutex(try Self.load(files))
    }

    /// Connections from now on get what the files say; those that are open go on. Throws ``Unusable`` and keeps what it
    /// has where the files do not fit together, as halfway through their replacement.
    public func reload() throws {
        let fresh = try Self.load(files)
        context.withLock { $0 = fresh }
    }

    var current: NIOSSLContext { context.withLock { $0 } }

    /// Files that are missing, no PEM, or do not belong together.
    public struct Unusable: Error, CustomStringConvertible {
        public let description: String
    }

    private static func load(_ files: Files) throws -> NIOSSLContext {
        for path in files.all {
            if let reason = unreadable(path) { throw Unusable(description: "\(path) cannot be read: \(reason).") }
        }
        do {
            return try NIOSSLContext(configuration: configuration(files))
        } catch let error as Unusable {
            throw error
        } catch {
            throw Unusable(
                description:
                    "\(files.certificate) and \(files.key) cannot be used for TLS; is the key the certificate's?")
        }
    }

    private static func unreadable(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return String(cString: strerror(errno)) }
        fclose(file)
        return nil
    }

    private static func certificates(_ path: String) throws -> [NIOSSLCertificateSource] {
        guard let found = try? NIOSSLCertificate.fromPEMFile(path), !found.isEmpty else {
            throw Unusable(description: "\(path) holds no certificate (PEM).")
        }
        return found.map { .certificate($0) }
    }

    private static func privateKey(_ path: String) throws -> NIOSSLPrivateKeySource {
        guard let key = try? NIOSSLPrivateKey(file: path, format: .pem) else {
            throw Unusable(description: "\(path) holds no private key without a password (PEM).")
        }
        return .privateKey(key)
    }

    private static func configuration(_ files: Files) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try certificates(files.certificate), privateKey: try privateKey(files.key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = suites
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        if let authorities = files.clientAuthorities {
            _ = try certificates(authorities)
            configuration.trustRoots = .file(authorities)
            configuration.certificateVerification =
                files.requiresClientCertificate ? .noHostnameVerification : .optionalVerification
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
