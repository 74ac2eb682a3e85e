import AdapterKit
import NIOCore
import Synchronization

/// A few more are accepted, so that health is answered and all other requests get 503; beyond those, connections are
/// closed.
final class ConnectionPermits: Sendable {
    enum Permit {
        case regular
        case rejected(PorticoError)
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
    func take(for channel: any Channel) -> Permit {
        let count = open.wrappingAdd(1, ordering: .relaxed).newValue
        channel.closeFuture.whenComplete { _ in self.open.wrappingSubtract(1, ordering: .relaxed) }
        guard count > limit else { return .regular }
        guard count <= limit + Self.reserve else { return .none }
        return .rejected(PorticoError(.overloaded, "Too many connections are open.", retryAfter: 1))
    }
}

/// How many requests may be under way at once: `http.limits.inFlight`. Health keeps answering beyond it, so that an
/// overloaded gateway is not taken for a dead one.
final class RequestPermits: Sendable {
    private let limit: Int
    private let reserve: Int
    private let taken = Atomic<Int>(0)

    /// `reserve`: places beyond the limit for what is cheap and urgent (`http.limits.urgent`).
    init(limit: Int, reserve: Int) {
        self.limit = limit
        self.reserve = reserve
    }

    /// Throws `server.overloaded`; takes a place otherwise.
    func take(for path: String) throws(PorticoError) {
        let count = taken.wrappingAdd(1, ordering: .relaxed).newValue
        guard isTooMany(count, path) else { return }
        leave()
        throw Self.overloaded
    }

    /// The error that ``take(for:)`` would throw now: an early check before costly work.
    func refusal(for path: String) -> PorticoError? {
        isTooMany(taken.load(ordering: .relaxed) + 1, path) ? Self.overloaded : nil
    }

    private static let overloaded = PorticoError(.overloaded, "Too many requests are under way.", retryAfter: 1)

    private func isTooMany(_ count: Int, _ path: String) -> Bool {
        guard count > limit, !Self.isAlwaysAnswered(path) else { return false }
        return count > limit + reserve || !Self.isUrgent(path)
    }

    /// What keeps a sign-in going costs little, and one that ends for want of it costs a password's hash.
    private static func isUrgent(_ path: String) -> Bool {
        ["/auth/refresh", "/auth/logout", "/auth/me", "/auth/jwks.json"].contains(path)
    }

    static func isAlwaysAnswered(_ path: String) -> Bool { path.hasPrefix("/health/") }

    func leave() {
        taken.wrappingSubtract(1, ordering: .relaxed)
    }
}
