import AdapterKit
import Synchronization

/// How many requests of one address wait for the rest of their bodies at once: `http.limits.incompletePerAddress`.
///
/// A body that comes slowly, but faster than ``UploadPace`` asks, keeps its request's place until the deadline. Without
/// a share per address, one peer without an account could take all places.
final class IncompleteBodies: Sendable {
    private let shares: Mutex<AddressShares>

    init(perAddress: Int) {
        shares = Mutex(AddressShares(perAddress: perAddress))
    }

    /// Throws `server.overloaded` where ``read(from:_:)`` would now: for whoever would be at some expense before.
    func check(_ peer: String) throws(PorticoError) {
        let network = AddressRange.network(of: peer)
        guard !shares.withLock({ $0.isFull(network) }) else { throw Self.tooMany }
    }

    /// Runs `collect`, which waits for a body. Throws `server.overloaded` where the address has its share already.
    func read(from peer: String, _ collect: () async throws -> [UInt8]) async throws -> [UInt8] {
        let network = AddressRange.network(of: peer)
        guard shares.withLock({ $0.take(network) }) else { throw Self.tooMany }
        defer { shares.withLock { $0.leave(network) } }
        return try await collect()
    }

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
