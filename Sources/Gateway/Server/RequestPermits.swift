import AdapterKit
import Synchronization

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

    /// What ``take(for:)`` would throw now: for whoever would be at some expense before it is asked.
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
