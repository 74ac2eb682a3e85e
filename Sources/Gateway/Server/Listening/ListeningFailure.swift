import Glibc
import NIOCore

/// An address that could not be listened at, in words for the operator.
public struct ListeningFailure: Error, CustomStringConvertible {
    public let description: String

    /// nil where the error is of another kind: these three come from `bind` and from nothing that follows it.
    init?(_ error: IOError, at address: GatewayServer.Address) {
        guard let reason = Self.reasons[error.errnoCode] else { return nil }
        description = "\(address) cannot be listened at: \(reason)."
    }

    private static let reasons = [
        EADDRINUSE: "another program does already", EADDRNOTAVAIL: "this machine has no such address",
        EACCES: "this user may not",
    ]
}
