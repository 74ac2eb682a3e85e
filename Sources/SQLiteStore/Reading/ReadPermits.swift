import AdapterKit
import GRDB
import Synchronization

/// A connection for as long as one read has it.
struct ReadPermit: Sendable {
    let connection: DatabaseQueue
    fileprivate let number: UInt64
    fileprivate let since: ContinuousClock.Instant
}

/// Carries ``ReadShares`` out: connections, opened when they are first needed, and continuations that wait for them.
final class ReadPermits: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var shares: ReadShares
        var free: [DatabaseQueue] = []
        var waiters: [UInt64: Waiter] = [:]
        /// Settled before they had begun to wait.
        var early: [UInt64: Result<Void, any Error>] = [:]
        var isClosed = false
    }

    static let turnIsOver = PorticoError(
        .overloaded, "The search took its time while others waited.", retryAfter: 1)
    private static let full = PorticoError(.overloaded, "Too many long searches are waiting.", retryAfter: 1)

    /// How long a read may go on while a caller waits who has none.
    private let turn: Duration
    private let open: @Sendable () throws -> DatabaseQueue
    private let state: Mutex<State>

    init(_ limits: ReadShares.Limits, turn: Duration, open: @escaping @Sendable () throws -> DatabaseQueue) {
        self.turn = turn
        self.open = open
        state = Mutex(State(shares: ReadShares(limits)))
    }

    /// Throws `server.overloaded` where too many wait, and `CancellationError` where the task is cancelled.
    func take(for caller: CallerIdentity) async throws -> ReadPermit {
        let number = try await enter(caller)
        do {
            try Task.checkCancellation()
            let free = try state.withLock { state in
                if state.isClosed { throw PorticoError.closed }
                return state.free.popLast()
            }
            return ReadPermit(connection: try free ?? open(), number: number, since: .now)
        } catch {
            leave(number)
            throw error is CancellationError ? error : PorticoError.wrapping(error)
        }
    }

    /// The connection first: who gets the place finds it.
    func leave(_ place: ReadPermit) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.free.append(place.connection) }
            return state.isClosed
        }
        if isClosed { try? place.connection.close() }
        leave(place.number)
    }

    /// Whether the read is to end so that another caller gets its place. Cheap where nobody waits.
    func isTurnOver(of place: ReadPermit) -> Bool {
        guard ContinuousClock.now - place.since >= turn else { return false }
        return state.withLock { !$0.shares.isQueueEmpty && $0.shares.endsTurn(of: place.number) }
    }

    func close() {
        let (free, waiters) = state.withLock { state in
            state.isClosed = true
            defer { (state.free, state.waiters) = ([], [:]) }
            return (state.free, state.waiters)
        }
        for connection in free { try? connection.close() }
        for waiter in waiters.values { waiter.resume(throwing: PorticoError.closed) }
    }

    private func enter(_ caller: CallerIdentity) async throws -> UInt64 {
        let admission = try state.withLock { state in
            if state.isClosed { throw PorticoError.closed }
            return state.shares.enter(caller)
        }
        switch admission {
        case .refused: throw Self.full
        case .admitted(let number): return number
        case .waits(let number, let evicted):
            if let evicted { settle(evicted, .failure(Self.full)) }
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { wait(number, $0) }
            } onCancel: {
                giveUp(number)
            }
            return number
        }
    }

    private func wait(_ number: UInt64, _ waiter: Waiter) {
        let early = state.withLock { state -> Result<Void, any Error>? in
            if let early = state.early.removeValue(forKey: number) { return early }
            if state.isClosed { return .failure(PorticoError.closed) }
            state.waiters[number] = waiter
            return nil
        }
        if let early { waiter.resume(with: early) }
    }

    private func giveUp(_ number: UInt64) {
        guard state.withLock({ $0.shares.giveUp(number) }) else { return }
        settle(number, .failure(CancellationError()))
    }

    private func leave(_ number: UInt64) {
        for admitted in state.withLock({ $0.shares.leave(number) }) { settle(admitted, .success(())) }
    }

    private func settle(_ number: UInt64, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state -> Waiter? in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil, !state.isClosed { state.early[number] = result }
            return waiter
        }
        waiter?.resume(with: result)
    }
}
