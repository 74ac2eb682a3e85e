import AdapterKit
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

extension HTTPUpstream {
    /// What the libraries throw, in this room's words.
    func failure(_ error: any Error) -> UpstreamFailure {
        if let known = error as? UpstreamFailure { return known }
        return UpstreamFailure(kind(of: error), of: name, detail: "\(error)")
    }

    private func kind(of error: any Error) -> UpstreamFailure.Kind {
        if Self.isBeforeSending(error) { return .unreachable }
        if error is CancellationError { return .cancelled }
        if error is Connections.OtherAddress { return .destinationRefused }
        switch error as? HTTPClientError {
        case .cancelled: return .cancelled
        case .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout: return .timedOut
        default: return .broken
        }
    }

    /// Whether there was no connection, so that the other side has seen nothing.
    static func isBeforeSending(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: [.connectTimeout, .tlsHandshakeTimeout].contains(error)
        case is NIOConnectionError, is NIOSSLError: true
        case let error as IOError: [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode)
        case let error as ChannelError: if case .connectTimeout = error { true } else { false }
        default: false
        }
    }
}
