import AdapterKit
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The body of one request on a connection: collected at most once, and never beyond its limit.
///
/// It remembers whether the body was read to its end. Where it was not, the connection cannot carry another request
/// unless what is left is small: reading on to the end of a refused body would let any client keep the server busy.
final class InboundBody: Sendable {
    /// What is read and thrown away to keep a connection.
    static let discardable = 256 << 10

    private enum State {
        case unread
        /// A task reads. After a passed deadline that may be an abandoned one.
        case reading
        case complete
        case stopped
    }

    private let pieces: BodyPieces
    private let announced: Int?
    /// Whether the head says that there is a body. A stream may have one without a word.
    let isAnnounced: Bool
    private let state: Mutex<State>

    /// Whether a request is a stream among others, whose body needs no announcement and no reuse.
    private let isStream: Bool
    private let pace: UploadRate

    init(_ request: Request, isStream: Bool, pace: UploadRate) {
        self.isStream = isStream
        self.pace = pace
        pieces = BodyPieces(request.body)
        announced = request.headers[.contentLength].flatMap { Int($0) }
        isAnnounced = (announced ?? 0) > 0 || request.headers[.transferEncoding] != nil
        let hasBody = isAnnounced || (isStream && announced == nil)
        state = Mutex(hasBody ? .unread : .complete)
    }

    /// A body that has to be waited for counts among its peer's (``IncompleteBodies``) while it is read.
    func source(from peer: String, _ incomplete: IncompleteBodies) -> RequestBodySource {
        guard state.withLock({ $0 }) != .complete else { return .bytes([]) }
        return .stream { limit in
            try await incomplete.read(from: peer) { try await self.collect(upTo: limit) }
        }
    }

    private func collect(upTo limit: Int) async throws -> [UInt8] {
        guard (announced ?? 0) <= limit else { throw PorticoError.bodyTooLarge(limit: limit) }
        guard beginReading() else { throw PorticoError(.requestMalformed, "The body was read already.") }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(announced ?? 0, limit))
        let began = ContinuousClock.now
        do {
            while let piece = try await pieces.next() {
                guard bytes.count + piece.readableBytes <= limit else { throw PorticoError.bodyTooLarge(limit: limit) }
                bytes.append(contentsOf: piece.readableBytesView)
                try pace.check(bytes.count, of: announced, after: .now - began)
            }
            // A connection that breaks off ends the pieces like a complete body does.
            guard bytes.count == announced ?? bytes.count else { throw PorticoError.brokenOff }
        } catch {
            state.withLock { $0 = .stopped }
            // Whatever else fails in reading is the connection's or the caller's: it broke off, or its stream was reset.
            // After a deadline this is not sent: its own error is the answer.
            throw error is PorticoError ? error : PorticoError.brokenOff
        }
        state.withLock { $0 = .complete }
        return bytes
    }

    /// Whether what was announced may be sent at all; a body without a length is met by ``collect(upTo:)``.
    func isWithin(_ limit: Int) -> Bool { (announced ?? 0) <= limit }

    /// Whether another request can follow on the connection.
    var allowsReuse: Bool {
        switch state.withLock({ $0 }) {
        case .complete: true
        // A stream carries one request, so nothing is read for another one's sake.
        case .unread: !isStream && announced.map { $0 <= Self.discardable } ?? false
        case .reading, .stopped: false
        }
    }

    private func beginReading() -> Bool {
        state.withLock { state in
            guard state == .unread || state == .stopped else { return false }
            state = .reading
            return true
        }
    }
}

extension PorticoError {
    fileprivate static let brokenOff = PorticoError.malformed("The request ends before it is complete.")
}

/// The pieces of a body, from the only iterator that the server gives out for it.
///
/// Unchecked because an iterator is not Sendable: ``InboundBody`` lets one reader in at a time, by its state.
private final class BodyPieces: @unchecked Sendable {
    private let body: RequestBody
    private var iterator: RequestBody.AsyncIterator?

    init(_ body: RequestBody) {
        self.body = body
    }

    func next() async throws -> ByteBuffer? {
        var current = iterator ?? body.makeAsyncIterator()
        // Kept where reading fails too: the server traps when it is asked for a second iterator.
        defer { iterator = current }
        return try await current.next()
    }
}

/// `http.limits.readRate`: how fast a body has to come at least. A little every now and then keeps a connection from
/// being idle, and would hold its request's place until the deadline.
struct UploadRate: Sendable {
    /// No rate is required of a client for so long.
    static let idleTimeout = Duration.seconds(5)

    /// Bytes a second.
    let rate: Int

    /// Throws `request.timeout`. A body that is whole came fast enough.
    func check(_ received: Int, of announced: Int?, after elapsed: Duration) throws(PorticoError) {
        guard elapsed > Self.idleTimeout, received != announced else { return }
        let least = Double(rate) * ((elapsed - Self.idleTimeout) / .seconds(1))
        guard Double(received) < least else { return }
        throw PorticoError(.requestTimeout, "The body comes too slowly.")
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
