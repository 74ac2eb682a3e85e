import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

extension HTTPClient {
    /// For documents at addresses that a command names. It lives as long as the program.
    static let documents = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: .prompt)
}

extension HTTPClient.Configuration {
    /// Reports what stands against a connection at once: a person waits, and can call again.
    static var prompt: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}

/// Why there is no connection to an address.
enum ConnectionFailure: Equatable {
    /// No program accepts connections there.
    case refused
    case hostUnknown
    case certificateNotTrusted
    /// The certificate is another server's.
    case certificateOfOtherName
    case clientCertificateNeeded
    case noTLS
    case other

    init(_ error: any Error) {
        switch error {
        case let error as NIOConnectionError:
            let refusals = error.connectionErrors.filter { Self.isRefusal($0.error) }
            if !refusals.isEmpty, refusals.count == error.connectionErrors.count {
                self = .refused
            } else {
                let isUnresolved = error.connectionErrors.isEmpty && (error.dnsAError ?? error.dnsAAAAError) != nil
                self = isUnresolved ? .hostUnknown : .other
            }
        case is NIOSSLExtraError: self = .certificateOfOtherName
        case let error as NIOSSLError: self = Self.tls("\(error)")
        case let error as BoringSSLError: self = Self.tls("\(error)")
        default: self = Self.isRefusal(error) ? .refused : .other
        }
    }

    /// Nil for a failure of another kind, whose own text says more.
    var words: String? {
        switch self {
        case .refused: "nothing listens there."
        case .hostUnknown: "its host is not known."
        case .certificateNotTrusted: "its certificate is not trusted."
        case .certificateOfOtherName: "its certificate is for another name."
        case .clientCertificateNeeded: "it wants a client's certificate."
        case .noTLS: "it does not speak TLS: is http:// meant?"
        case .other: nil
        }
    }

    private static func isRefusal(_ error: any Error) -> Bool { (error as? IOError)?.errnoCode == ECONNREFUSED }

    /// BoringSSL has no other way to tell its errors apart than their names.
    private static func tls(_ text: String) -> ConnectionFailure {
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return .certificateNotTrusted }
        let isRefused = ["CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE"].contains { text.contains($0) }
        if isRefused { return .clientCertificateNeeded }
        return text.contains("WRONG_VERSION_NUMBER") ? .noTLS : .other
    }
}

extension GatewayAddress {
    /// Whether the error of an answer says that another server stands at the address than an admin listener, such as the
    /// gateway's public one.
    func isOfAnother(_ code: String?) -> Bool {
        guard case .listener = self else { return false }
        return code == "route.notFound"
    }

    /// A sentence about an answer that no admin listener of this version gives.
    func strangersAnswer(_ status: UInt) -> String {
        switch self {
        case .socket: "The answer at \(self) is no gateway's (\(status))."
        case .listener:
            """
            What answers at \(self) is no admin listener of this version (\(status)). Name a gateway's with --url; \
            with TLS it begins with https://.
            """
        }
    }

    /// A sentence that says why no answer came, with the option that names another address or another certificate.
    func explanation(of error: any Error) -> String {
        switch (self, ConnectionFailure(error)) {
        case (.socket, .refused):
            "No gateway runs here: \(self) is left of one that has ended. Name its data directory with --data."
        case (.socket, _): "The gateway does not answer at \(self)."
        case (.listener, .refused): "Nothing listens at \(self). Name a gateway's admin listener with --url."
        case (.listener, .hostUnknown): "The host of \(self) is not known. Name a gateway's admin listener with --url."
        case (.listener, .certificateNotTrusted):
            "The certificate of \(self) is not trusted. Name who vouches for it with --authorities (a PEM file)."
        case (.listener, .certificateOfOtherName):
            "The certificate of \(self) is for another name. Use one of its names in --url."
        case (.listener, .clientCertificateNeeded):
            "\(self) wants a certificate that it knows. Name it with --certificate and --key."
        case (.listener, .noTLS): "There is no TLS at \(self). Use http:// in --url."
        case (.listener, .other): "The gateway does not answer at \(self): \(String(describing: error).visible)."
        }
    }
}
