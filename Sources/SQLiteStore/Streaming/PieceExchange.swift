import AdapterKit
import Dispatch
import Synchronization

/// Between a read on its thread and the task that takes its pieces: one piece waits, and then the read does.
final class PieceExchange: PieceOutput, ReadControl {
    private typealias Taker = CheckedContinuation<[UInt8]?, any Error>

    private struct State {
        var piece: [UInt8]?
        var taker: Taker?
        var isReadWaiting = false
        /// How the read ended.
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

    /// The read is to end: nobody takes its pieces, or the store is closed.
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

/// What the reader has of an exchange. The read ends with it, whether it was taken to its end, given up or forgotten.
final class ExchangedPieces: MountResponseBody {
    private let exchange: PieceExchange

    init(_ exchange: PieceExchange) {
        self.exchange = exchange
    }

    deinit { end() }

    func next() async throws -> [UInt8]? { try await exchange.take() }

    func end() { exchange.stop(CancellationError()) }
}
