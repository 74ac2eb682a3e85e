import AdapterKit
import Synchronization

/// How many requests may be under way at once: `http.limits.inFlight`. Health keeps answering beyond it, so that an
/// overloaded gateway is not taken for a dead one.
final class RequestPlaces: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Throws `server.overloaded`; takes a place otherwise.
    func take(for path: String) throws(PorticoError) {
        let count = taken.wrappingAdd(1, ordering: .relaxed).newValue
        guard count > limit, !Self.isAlwaysAnswered(path) else { return }
        leave()
        throw PorticoError(.overloaded, "Too many requests are under way.", retryAfter: 1)
    }

    static func isAlwaysAnswered(_ path: String) -> Bool { path.hasPrefix("/health/") }

    func leave() {
        taken.wrappingSubtract(1, ordering: .relaxed)
    }
}
