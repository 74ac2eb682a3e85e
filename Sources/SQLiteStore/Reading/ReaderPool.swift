import AdapterKit
import GRDB
import GRDBSQLite
import Synchronization

/// Read-only connections. A read takes one, runs on the caller's thread within a transaction, and gives it back.
///
/// Not GRDB's asynchronous reads: the two changes of thread that each costs take longer than a typical read. A read that
/// turns out long would hold up everything else on its thread; after
/// ``SQLiteStoreSettings/quickSteps`` of SQLite's instructions it is broken off and begun again in one of the ``LongQueryPool``;
/// ``LongQueryHistory`` knows those that go there at once.
///
/// Where nothing has been written since, a connection goes on in the transaction of the read before (``ReadingTurns``).
final class ReaderPool: Sendable {
    private let connections: [DatabaseQueue]
    private let longQueryPool: LongQueryPool
    private let turns: Mutex<ReadingTurns>

    init(_ connections: [DatabaseQueue], longQueryPool: LongQueryPool, longReads: LongQueryHistory) {
        for connection in connections { connection.unsafeRead(longReads.watch) }
        self.connections = connections
        self.longQueryPool = longQueryPool
        turns = Mutex(ReadingTurns(connections: connections.count))
    }

    /// The body may run twice. Throws ``PorticoError``, or `CancellationError` where a long read's task is cancelled.
    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await read { database, _ in try body(database) }
    }

    /// The body asks the control where it does much between two statements.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Database, any ReadControl) throws -> Result
    ) async throws -> Result {
        do {
            try Task.checkCancellation()
            return try quickly { try body($0, TaskReadControl()) }
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            return try await longQueryPool.read(body)
        } catch {
            throw translated(error)
        }
    }

    /// To be called around whatever may change the file, by the one connection that writes. What is read after it sees
    /// what was written; and while it lasts no connection holds a state that nobody reads, which would keep the
    /// checkpoint from emptying the log file.
    func whileWriting<Result>(_ body: () throws -> Result) rethrows -> Result {
        let kept = turns.withLock { $0.beginWriting() }
        for connection in kept { rest(connection) }
        defer { turns.withLock { $0.endWriting() } }
        return try body()
    }

    func close() {
        for connection in connections { try? connection.close() }
        longQueryPool.close()
    }

    private func quickly<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let place = turns.withLock { $0.take() }
        var isHolding = false
        // Somebody may have begun to write since the read has ended.
        defer { if !turns.withLock({ $0.giveBack(place, holding: isHolding) }) { rest(place.connection) } }
        return try connections[place.connection].unsafeRead { database in
            if !place.goesOn { try database.endTransaction() }
            if !database.isInsideTransaction { try database.run("BEGIN") }
            do {
                let result = try body(database)
                isHolding = turns.withLock { $0.mayKeep(place) }
                if !isHolding { try database.endTransaction() }
                return result
            } catch {
                isHolding = false
                try? database.rollback()
                throw error
            }
        }
    }

    /// Ends the transaction of a connection that nobody has, and lets it be taken.
    private func rest(_ connection: Int) {
        connections[connection].unsafeRead { try? $0.endTransaction() }
        turns.withLock { $0.rested(connection) }
    }
}

extension Database {
    fileprivate func endTransaction() throws {
        if isInsideTransaction { try run("COMMIT") }
    }
}
