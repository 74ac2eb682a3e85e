import AdapterKit
import Admission
import Dispatch
import GRDB
import Synchronization

/// Reads that last as long as a caller takes what they find: each on a thread and a connection of its own, whose
/// transaction keeps the state that it began with.
///
/// As many at once as there are connections, which are opened when they are first needed; further ones wait, shared fairly among callers
/// (``ReadShares``).
/// What such a read holds back is the log file, which is not emptied below the oldest of them: hence their time is short.
final class StreamedReads: Sendable {
    typealias Body = @Sendable (Database, PieceExchange) throws -> Void

    /// Reads that wait at most; more throw `server.overloaded`.
    static let maximumWaiting = 64

    private let places: ReadPermits
    private let underWay = Mutex<[ObjectIdentifier: PieceExchange]>([:])

    /// `turn`: how long a caller's second read and further ones may go on while another caller has none. `open` makes a
    /// connection that nothing breaks off.
    init(_ count: Int, turn: Duration, open: @escaping @Sendable () throws -> DatabaseQueue) {
        places = ReadPermits(
            ReadShares.Limits(places: count, waiting: Self.maximumWaiting, kept: 1), turn: turn, open: open)
    }

    func start(within time: Duration, _ body: @escaping Body) async throws -> ExchangedPieces {
        let place = try await places.take(for: .current)
        let nanoseconds = time / .nanoseconds(1)
        let exchange = PieceExchange(until: .now() + .nanoseconds(Int(min(nanoseconds, 1e18)))) { [places] in
            places.isTurnOver(of: place)
        }
        underWay.withLock { $0[ObjectIdentifier(exchange)] = exchange }
        DispatchQueue(label: "store.stream").async { [self] in
            let result = Result {
                try place.connection.read(under: exchange) { try body($0, exchange) }
            }
            underWay.withLock { $0[ObjectIdentifier(exchange)] = nil }
            // First the place: who has seen the end finds it free.
            places.leave(place)
            exchange.finish(result)
        }
        return ExchangedPieces(exchange)
    }

    /// Reads that run and that wait.
    var counts: AdmissionCounts { places.counts }

    func close() {
        let exchanges = underWay.withLock { Array($0.values) }
        for exchange in exchanges { exchange.stop(PorticoError.closed) }
        places.close()
    }
}

/// Between a read on its thread and the task that takes its pieces: one piece waits, and then the read does.
final class PieceExchange: ChunkOutput, ReadControl {
    private typealias Taker = CheckedContinuation<[UInt8]?, any Error>

    private struct State {
        var piece: [UInt8]?
        var taker: Taker?
        var isReadWaiting = false
        /// The end of the read.
        var end: Result<Void, any Error>?
        /// Why it is to end.
        var stop: (any Error)?
    }

    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)
    private let deadline: DispatchTime
    private let isTurnOver: @Sendable () -> Bool

    /// `isTurnOver`: whether another caller waits for too long for what this read has.
    init(until deadline: DispatchTime, isTurnOver: @escaping @Sendable () -> Bool = { false }) {
        self.deadline = deadline
        self.isTurnOver = isTurnOver
    }

    private static let longestWait = DispatchTimeInterval.seconds(1)

    static let tooLong = PorticoError(.deadlineExceeded, "The answer took too long to be taken.")

    func check() throws {
        if let stop = state.withLock({ $0.stop }) { throw stop }
        if DispatchTime.now() > deadline { throw Self.tooLong }
        if isTurnOver() { throw ReadPermits.turnIsOver }
    }

    func send(_ piece: [UInt8]) throws {
        while try !offer(piece) {
            // Looked after now and then: another caller may begin to wait meanwhile.
            _ = room.wait(timeout: min(deadline, .now() + Self.longestWait))
            try check()
        }
    }

    /// False where the piece before is still there.
    private func offer(_ piece: [UInt8]) throws -> Bool {
        let (isTaken, taker) = try state.withLock { state throws -> (Bool, Taker?) in
            if let stop = state.stop { throw stop }
            if let taker = state.taker {
                state.taker = nil
                return (true, taker)
            }
            state.isReadWaiting = state.piece != nil
            if state.piece == nil {
                state.piece = piece
                return (true, nil)
            }
            return (false, nil)
        }
        taker?.resume(returning: piece)
        return isTaken
    }

    /// The read has ended.
    func finish(_ result: Result<Void, any Error>) {
        let taker = state.withLock { state in
            state.end = result
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume(with: result.map { nil })
    }

    /// The read is to end: no caller takes its pieces, or the store is closed.
    func stop(_ reason: any Error) {
        let (taker, wakes) = state.withLock { state in
            if state.stop == nil { state.stop = reason }
            defer { (state.taker, state.isReadWaiting) = (nil, false) }
            return (state.taker, state.isReadWaiting)
        }
        taker?.resume(throwing: reason)
        if wakes { room.signal() }
    }

    /// The next piece; nil at the end.
    func take() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { taker in
            let (answer, wakes) = state.withLock { state -> (Result<[UInt8]?, any Error>?, Bool) in
                if let piece = state.piece {
                    defer { (state.piece, state.isReadWaiting) = (nil, false) }
                    return (.success(piece), state.isReadWaiting)
                }
                if let end = state.end { return (end.map { nil }, false) }
                if let stop = state.stop { return (.failure(stop), false) }
                state.taker = taker
                return (nil, false)
            }
            if wakes { room.signal() }
            if let answer { taker.resume(with: answer) }
        }
    }
}

/// The reader's side of an exchange. The read ends with it, whether it was taken to its end, given up or forgotten.
final class ExchangedPieces: ByteStream {
    private let exchange: PieceExchange

    init(_ exchange: PieceExchange) {
        self.exchange = exchange
    }

    deinit { cancel() }

    func next() async throws -> [UInt8]? { try await exchange.take() }

    func cancel() { exchange.stop(CancellationError()) }
}
