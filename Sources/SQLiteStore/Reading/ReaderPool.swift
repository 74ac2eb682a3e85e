import AdapterKit
import Admission
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization
import Telemetry

/// Read-only connections. A read takes one, runs on the caller's thread within a transaction, and gives it back.
///
/// Not GRDB's asynchronous reads: the two changes of thread that each costs take longer than a typical read. A read that
/// turns out long would hold up everything else on its thread; after
/// ``SQLiteStoreSettings/quickSteps`` of SQLite's instructions, or ``FunctionWork/quickBytes`` in functions, it is broken off and begun again in one of the ``LongQueryPool``;
/// ``LongQueryHistory`` knows those that go there at once.
///
/// Where nothing has been written since, a connection goes on in the transaction of the read before (``ReadTransactionReuse``).
final class ReaderPool: Sendable {
    private let connections: [DatabaseQueue]
    /// What the functions of each have done.
    private let functions: [FunctionWork?]
    private let longQueryPool: LongQueryPool
    private let turns: Mutex<ReadTransactionReuse>
    private let counters: StoreCounters

    init(
        _ connections: [DatabaseQueue], longQueryPool: LongQueryPool, longReads: LongQueryHistory,
        counters: StoreCounters
    ) {
        self.counters = counters
        for connection in connections { connection.unsafeRead(longReads.watch) }
        functions = connections.map { $0.unsafeRead(FunctionWork.of) }
        self.connections = connections
        self.longQueryPool = longQueryPool
        turns = Mutex(ReadTransactionReuse(connections: connections.count))
    }

    /// The body may run twice. Throws ``PorticoError``, or `CancellationError` where a long read's task is cancelled.
    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await read { database, _ in try body(database) }
    }

    /// The body asks the control where it does much between two statements.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Database, any ReadControl) throws -> Result
    ) async throws -> Result {
        try await RequestTimeline.measure(.read, "store read") { try await run(body) }
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (Database, any ReadControl) throws -> Result
    ) async throws -> Result {
        do {
            try Task.checkCancellation()
            let result = try quickly { try body($0, TaskReadControl()) }
            counters.noteQuickRead()
            return result
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            counters.noteLongRead()
            return try await longQueryPool.read(body)
        } catch {
            throw translated(error)
        }
    }

    /// Long reads that run and that wait.
    var longPool: AdmissionCounts { longQueryPool.counts }

    /// To be called around whatever may change the file, by the one connection that writes. What is read after it sees
    /// what was written; and while it lasts no connection holds a state that no caller reads, which would keep the
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
        // A caller may have begun to write since the read has ended.
        defer { if !turns.withLock({ $0.giveBack(place, holding: isHolding) }) { rest(place.connection) } }
        return try connections[place.connection].unsafeRead { database in
            functions[place.connection]?.beginQuickRead()
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

    /// Ends the transaction of a connection that no caller has, and lets it be taken.
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

/// Who has which connection, and which may go on in the transaction of the read before: the state machine behind
/// ``ReaderPool``, which holds it under a lock and does what it says.
///
/// Beginning and ending a read transaction takes two calls of the kernel and looks anew at what the file holds, for many
/// reads as long as the reading itself. So a transaction is kept as long as nothing is written: the one writer begins
/// and ends a turn around everything it does, and takes back what is kept before.
/// Why it is there: docs/decisions/0031-run-reads-on-the-calling-thread.md.
struct ReadTransactionReuse {
    struct Place {
        let connection: Int
        /// Whether the connection's transaction, if it has one, is of the present state.
        let goesOn: Bool
        fileprivate let turn: Int
        /// False where another caller has it too, who is waited for.
        fileprivate let isOwned: Bool
    }

    /// Those that no caller has, and in which turn the transaction began that each holds.
    private var free: [(connection: Int, since: Int?)]
    private let count: Int
    /// Which connection the next one shares who finds none free.
    private var shared = 0
    /// How often writing has begun and ended: odd while a caller writes.
    private var turn = 0

    init(connections: Int) {
        free = (0..<connections).map { ($0, nil) }
        count = connections
    }

    mutating func take() -> Place {
        guard let (connection, since) = free.popLast() else {
            shared = (shared + 1) % count
            return Place(connection: shared, goesOn: false, turn: turn, isOwned: false)
        }
        return Place(connection: connection, goesOn: since == turn, turn: turn, isOwned: true)
    }

    /// Whether the transaction may stay open. The caller that shares a connection does not know who comes next.
    func mayKeep(_ place: Place) -> Bool { place.isOwned && place.turn == turn && turn.isMultiple(of: 2) }

    /// False where the transaction that the connection holds must be ended first; ``rested(_:)`` is to be called then.
    mutating func giveBack(_ place: Place, holding: Bool) -> Bool {
        guard place.isOwned else { return true }
        guard !holding || mayKeep(place) else { return false }
        free.append((place.connection, holding ? place.turn : nil))
        return true
    }

    /// The connection has no transaction any more.
    mutating func rested(_ connection: Int) { free.append((connection, nil)) }

    /// The connections whose transactions are to be ended; ``rested(_:)`` is to be called for each.
    mutating func beginWriting() -> [Int] {
        turn += 1
        let kept = free.filter { $0.since != nil }
        free.removeAll { $0.since != nil }
        return kept.map(\.connection)
    }

    mutating func endWriting() { turn += 1 }
}
