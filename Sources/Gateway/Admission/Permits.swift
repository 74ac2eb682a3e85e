import AdapterKit
import Synchronization

/// How many requests may be under way at once: `http.limits.inFlight`. Health keeps answering beyond it, so that an
/// overloaded gateway is not taken for a dead one.
final class RequestPermits: Sendable {
    private let limit: Atomic<Int>
    private let reserve: Atomic<Int>
    private let taken = Atomic<Int>(0)

    /// `reserve`: places beyond the limit for what is cheap and urgent (`http.limits.urgent`).
    init(limit: Int, reserve: Int) {
        self.limit = Atomic(limit)
        self.reserve = Atomic(reserve)
    }

    /// What is under way stays, though it is more.
    func change(limit: Int, reserve: Int) {
        self.limit.store(limit, ordering: .relaxed)
        self.reserve.store(reserve, ordering: .relaxed)
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
        let limit = limit.load(ordering: .relaxed)
        guard count > limit, !Self.isAlwaysAnswered(path) else { return false }
        return count > limit + reserve.load(ordering: .relaxed) || !Self.isUrgent(path)
    }

    /// What keeps a sign-in going costs little, and one that ends for want of it costs a password's hash.
    private static func isUrgent(_ path: String) -> Bool {
        ["/auth/refresh", "/auth/logout", "/auth/me", "/auth/jwks.json"].contains(path)
    }

    static func isAlwaysAnswered(_ path: String) -> Bool { path.hasPrefix("/health/") }

    var count: Int { taken.load(ordering: .relaxed) }

    func leave() {
        taken.wrappingSubtract(1, ordering: .relaxed)
    }
}

/// How many requests of one address wait for the rest of their bodies at once: `http.limits.incompletePerAddress`.
///
/// A body that comes slowly, but faster than ``UploadRate`` asks, keeps its request's place until the deadline. Without
/// a share per address, one peer without an account could take all places.
final class IncompleteBodies: Sendable {
    private let shares: Mutex<AddressShares>

    init(perAddress: Int) {
        shares = Mutex(AddressShares(perAddress: perAddress))
    }

    /// Throws `server.overloaded` where ``read(from:_:)`` would throw now: an early check before costly work.
    func check(_ peer: String) throws(PorticoError) {
        let network = clientNetwork(of: peer)
        guard !shares.withLock({ $0.isFull(network) }) else { throw Self.tooMany }
    }

    /// Runs `collect`, which waits for a body. Throws `server.overloaded` where the address has its share already.
    func read(from peer: String, _ collect: () async throws -> [UInt8]) async throws -> [UInt8] {
        let network = clientNetwork(of: peer)
        guard shares.withLock({ $0.take(network) }) else { throw Self.tooMany }
        defer { shares.withLock { $0.leave(network) } }
        return try await collect()
    }

    /// A body whose rest is thrown away, until ``end(from:)``; false where the address has its share already.
    func begin(from peer: String) -> Bool { shares.withLock { $0.take(clientNetwork(of: peer)) } }

    func end(from peer: String) { shares.withLock { $0.leave(clientNetwork(of: peer)) } }

    private static let tooMany = PorticoError(
        .overloaded, "Too many requests from this address are incomplete.", retryAfter: 1)
}

/// A count for each address that has any.
struct AddressShares {
    let perAddress: Int
    private var counts: [String: Int] = [:]

    init(perAddress: Int) {
        self.perAddress = perAddress
    }

    var isEmpty: Bool { counts.isEmpty }

    func isFull(_ address: String) -> Bool { counts[address, default: 0] >= perAddress }

    /// False where the address has its share already.
    mutating func take(_ address: String) -> Bool {
        guard !isFull(address) else { return false }
        counts[address, default: 0] += 1
        return true
    }

    mutating func leave(_ address: String) {
        guard let count = counts[address] else { return }
        counts[address] = count > 1 ? count - 1 : nil
    }
}
