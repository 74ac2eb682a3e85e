import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An error of the HTTP libraries, in words for an operator. Their own descriptions name types, and several lines of them.
struct ConnectionProblem {
    /// Without a full stop, as it follows the kind of a failure.
    let sentence: String

    /// Nil: the libraries' description is all there is.
    init?(_ error: any Error) {
        let sentence: String? =
            switch error {
            case let error as NIOConnectionError: Self.connecting(error)
            case let error as IOError: Self.system(error.errnoCode)
            case is NIOSSLExtraError: "its certificate is for another name"
            case let error as NIOSSLError: Self.tls("\(error)")
            case let error as BoringSSLError: Self.tls("\(error)")
            case let error as HTTPClientError: Self.client(error)
            case is HTTPParserError: "its answer is no HTTP"
            case let error as ChannelError: Self.channel(error)
            default: nil
            }
        guard let sentence else { return nil }
        self.sentence = sentence
    }

    private static func connecting(_ error: NIOConnectionError) -> String? {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            return "the name \(error.host) is not known"
        }
        return error.connectionErrors.lazy.compactMap { ConnectionProblem($0.error)?.sentence }.first
    }

    private static func system(_ code: CInt) -> String {
        switch code {
        case ECONNREFUSED: "nothing listens there"
        case ENETUNREACH, EHOSTUNREACH: "no network leads there"
        case ECONNRESET, EPIPE: "it broke the connection off"
        case ETIMEDOUT: "no connection came about in time"
        default: String(cString: strerror(code)).lowercased()
        }
    }

    /// BoringSSL has no other way to tell its errors apart than their names.
    private static func tls(_ text: String) -> String {
        let causes = [
            (
                "CERTIFICATE_VERIFY_FAILED",
                "its certificate is not trusted: upstreams.*.certificates names those that are"
            ),
            ("CERTIFICATE_REQUIRED", "it wants a certificate that it knows: upstreams.*.credentials"),
            ("HANDSHAKE_FAILURE", "it refuses the TLS handshake; it may want a certificate: upstreams.*.credentials"),
            ("WRONG_VERSION_NUMBER", "it does not speak TLS: is http:// meant?"),
            ("uncleanShutdown", "it broke the connection off"),
            ("noCertificateToValidate", "it shows no certificate"),
            (
                "unableToValidateCertificate",
                "its certificate is not trusted: upstreams.*.certificates names those that are"
            ),
        ]
        return causes.first { text.contains($0.0) }?.1 ?? "TLS failed: \(text.prefix(200))"
    }

    private static func client(_ error: HTTPClientError) -> String? {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout: "no connection came about in time"
        case .tlsHandshakeTimeout: "the TLS handshake was not done in time"
        case .readTimeout: "it was silent for too long"
        case .writeTimeout: "it took nothing of the request for too long"
        case .deadlineExceeded: "the deadline passed"
        case .remoteConnectionClosed, .uncleanShutdown: "it closed the connection before its answer was complete"
        default: nil
        }
    }

    private static func channel(_ error: ChannelError) -> String? {
        switch error {
        case .connectTimeout: "no connection came about in time"
        case .eof, .ioOnClosedChannel, .alreadyClosed, .inputClosed, .outputClosed: "it broke the connection off"
        default: nil
        }
    }
}
