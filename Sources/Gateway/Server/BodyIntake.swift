import AdapterKit
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The body of one request on a connection: collected at most once, and never beyond its limit.
///
/// It remembers whether the body was read to its end. Where it was not, the connection cannot carry another request
/// unless what is left is small: reading on to the end of a refused body would let anybody keep the server busy.
final class BodyIntake: Sendable {
    /// What is read and thrown away to keep a connection.
    static let discardable = 256 << 10

    private enum State {
        case unread
        /// Somebody reads; after a passed deadline that may be a task which nobody waits for any more.
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
    private let pace: UploadPace

    init(_ request: Request, isStream: Bool, pace: UploadPace) {
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
            // After a deadline nobody sees this: its own error is the answer.
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
/// Unchecked because an iterator is not Sendable: ``BodyIntake`` lets one reader in at a time, by its state.
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
