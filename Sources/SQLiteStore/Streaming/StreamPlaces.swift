import AdapterKit
import GRDB
import Synchronization

/// The connections of ``StreamedReads``: who finds none free waits until one is left, in turn.
final class StreamPlaces: Sendable {
    private typealias Waiter = CheckedContinuation<DatabaseQueue?, any Error>

    private struct State {
        var free: [DatabaseQueue] = []
        var opened = 0
        var waiting: [(number: UInt64, waiter: Waiter)] = []
        var lastNumber: UInt64 = 0
        /// Those that have not begun to wait yet, and whether they were given up by then.
        var arriving: [UInt64: Bool] = [:]
        var isClosed = false
    }

    private enum Finding {
        case connection(DatabaseQueue)
        case opens
        case waits(UInt64)
    }

    private let limit: Int
    private let open: @Sendable () throws -> DatabaseQueue
    private let state = Mutex(State())

    init(limit: Int, open: @escaping @Sendable () throws -> DatabaseQueue) {
        self.limit = limit
        self.open = open
    }

    /// Throws `server.overloaded` where too many wait, and `CancellationError` where the task is cancelled.
    func take() async throws -> DatabaseQueue {
        switch try find() {
        case .connection(let connection): return connection
        case .opens: return try opened()
        case .waits(let number):
            let connection = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { wait(number, $0) }
            } onCancel: {
                giveUp(number)
            }
            return try connection ?? opened()
        }
    }

    func leave(_ connection: DatabaseQueue) { pass(connection) }

    func close() {
        let (free, waiting) = state.withLock { state in
            state.isClosed = true
            defer { (state.free, state.waiting) = ([], []) }
            return (state.free, state.waiting)
        }
        for connection in free { try? connection.close() }
        for waiting in waiting { waiting.waiter.resume(throwing: PorticoError.closed) }
    }

    private func find() throws(PorticoError) -> Finding {
        try state.withLock { state throws(PorticoError) -> Finding in
            if state.isClosed { throw .closed }
            if let connection = state.free.popLast() { return .connection(connection) }
            if state.opened < limit {
                state.opened += 1
                return .opens
            }
            guard state.waiting.count < StreamedReads.maximumWaiting else {
                throw PorticoError(.overloaded, "Too many long answers are waiting.", retryAfter: 1)
            }
            state.lastNumber += 1
            state.arriving[state.lastNumber] = false
            return .waits(state.lastNumber)
        }
    }

    /// A place that was counted already. Where it cannot be opened somebody else may try.
    private func opened() throws -> DatabaseQueue {
        do {
            return try open()
        } catch {
            pass(nil)
            throw PorticoError.wrapping(error)
        }
    }

    /// To the first who waits; nil: a place without a connection.
    private func pass(_ connection: DatabaseQueue?) {
        let (waiter, isClosed) = state.withLock { state -> (Waiter?, Bool) in
            if state.isClosed { return (nil, true) }
            if !state.waiting.isEmpty { return (state.waiting.removeFirst().waiter, false) }
            if let connection { state.free.append(connection) } else { state.opened -= 1 }
            return (nil, false)
        }
        if isClosed { try? connection?.close() }
        waiter?.resume(returning: connection)
    }

    private func wait(_ number: UInt64, _ waiter: Waiter) {
        let answer = state.withLock { state -> Result<DatabaseQueue?, any Error>? in
            if state.arriving.removeValue(forKey: number) == true { return .failure(CancellationError()) }
            if state.isClosed { return .failure(PorticoError.closed) }
            // What became free in between went to nobody.
            if let connection = state.free.popLast() { return .success(connection) }
            if state.opened < limit {
                state.opened += 1
                return .success(nil)
            }
            state.waiting.append((number, waiter))
            return nil
        }
        if let answer { waiter.resume(with: answer) }
    }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                if state.arriving[number] != nil { state.arriving[number] = true }
                return nil
            }
            return state.waiting.remove(at: place).waiter
        }
        waiter?.resume(throwing: CancellationError())
    }
}
