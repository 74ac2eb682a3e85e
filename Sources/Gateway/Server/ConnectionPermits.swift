import AdapterKit
import NIOCore
import Synchronization

/// How many connections may be open: `http.limits.connections`.
///
/// A few more are taken, so that health is answered and everybody else is told to come back; beyond those, nothing is.
final class ConnectionPermits: Sendable {
    enum Place {
        case regular
        case turnedAway(PorticoError)
        case none
    }

    /// Connections above the limit that live for one answer.
    static let reserve = 64

    private let limit: Int
    private let open = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Given back when the channel closes.
    func take(for channel: any Channel) -> Place {
        let count = open.wrappingAdd(1, ordering: .relaxed).newValue
        channel.closeFuture.whenComplete { _ in self.open.wrappingSubtract(1, ordering: .relaxed) }
        guard count > limit else { return .regular }
        guard count <= limit + Self.reserve else { return .none }
        return .turnedAway(PorticoError(.overloaded, "Too many connections are open.", retryAfter: 1))
    }
}
