import AdapterKit
import GRDB
import GRDBSQLite
import Synchronization

/// Read-only connections. A read takes one, runs on the caller's thread, and gives it back.
///
/// Not GRDB's asynchronous reads: the two changes of thread that each costs take longer than a typical read. A read that
/// turns out long would hold up everything else on its thread; after
/// ``SQLiteStoreSettings/quickSteps`` of SQLite's instructions it is broken off and begun again in one of the ``SlowLanes``;
/// ``LongReads`` knows those that go there at once.
final class ReaderPool: Sendable {
    private struct State {
        var free: [Int]
        /// Which connection the next one shares who finds none free.
        var shared = 0
    }

    private let connections: [DatabaseQueue]
    private let slowLanes: SlowLanes
    private let state: Mutex<State>

    init(_ connections: [DatabaseQueue], slowLanes: SlowLanes, longReads: LongReads) {
        for connection in connections { connection.unsafeRead(longReads.watch) }
        self.connections = connections
        self.slowLanes = slowLanes
        state = Mutex(State(free: Array(connections.indices)))
    }

    /// The body may run twice. Throws ``PorticoError``, or `CancellationError` where a long read's task is cancelled.
    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        do {
            return try quickly(body)
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            return try await slowLanes.read(body)
        } catch {
            throw translated(error)
        }
    }

    func close() {
        for connection in connections { try? connection.close() }
        slowLanes.close()
    }

    private func quickly<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let (connection, isOwned) = take()
        defer { if isOwned { state.withLock { $0.free.append(connection) } } }
        return try connections[connection].unsafeRead { database in
            // GRDB ends the process over a transaction that is left open.
            defer { if database.isInsideTransaction { try? database.rollback() } }
            return try body(database)
        }
    }

    /// A free connection; where there is none, one that is shared with whoever has it, who is waited for.
    private func take() -> (Int, Bool) {
        state.withLock { state in
            if let free = state.free.popLast() { return (free, true) }
            state.shared = (state.shared + 1) % connections.count
            return (state.shared, false)
        }
    }
}
