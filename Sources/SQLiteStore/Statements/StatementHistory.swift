import AdapterKit
import GRDB
import GRDBSQLite
import Synchronization

/// Which statements are worth keeping: those that are asked for a second time, as long as there is room.
///
/// GRDB's cache keeps what it has for as long as a connection is open, and callers' questions have any shape, so not
/// every one may come into it. Preparing costs more than finding ten rows.
final class StatementAdmission: Sendable {
    private struct State {
        var admitted: Set<String> = []
        /// Those that were asked for once, in the order in which they are forgotten.
        var recent: [String] = []
        var next = 0

        mutating func remember(_ sql: String) {
            guard recent.count == StatementAdmission.maximumRecent else { return recent.append(sql) }
            recent[next] = sql
            next = (next + 1) % recent.count
        }
    }

    /// Statements that are kept, on each connection.
    static let maximumKept = 192
    private static let maximumRecent = 256
    /// Bytes of a statement that is kept: as many as are kept would otherwise hold gigabytes.
    static let maximumBytes = 64 << 10

    private let state = Mutex(State())

    func admits(_ sql: String) -> Bool {
        guard sql.utf8.count <= Self.maximumBytes else { return false }
        return state.withLock { state in
            if state.admitted.contains(sql) { return true }
            guard state.admitted.count < Self.maximumKept else { return false }
            if state.recent.contains(sql) {
                state.admitted.insert(sql)
                return true
            }
            state.remember(sql)
            return false
        }
    }
}

/// Which questions were too long for the quick connections lately: asked again, they go to the ``LongQueryPool`` at once, and
/// what a vain attempt would cost is saved.
///
/// A question is a statement with its values, because the same statement may be quick for one caller and long for
/// another. Every so often one is tried quickly all the same: records go, and indexes come.
final class LongQueryHistory: Sendable {
    private struct State {
        /// Quick connections.
        var quick: Set<ObjectIdentifier> = []
        var estimate = LongReadEstimate()
    }

    private let state = Mutex(State())

    /// From now on `connection` is a quick one.
    func watch(_ connection: Database) {
        state.withLock { _ = $0.quick.insert(ObjectIdentifier(connection)) }
    }

    /// Throws as if it had been broken off, where `query` would be.
    func check(_ query: @autoclosure () -> SQLFragment, on connection: Database) throws {
        let isKnown = state.withLock { state in
            guard !state.estimate.isEmpty, state.quick.contains(ObjectIdentifier(connection)) else { return false }
            return state.estimate.expectsLong(query().hashValue)
        }
        if isKnown { throw SQLiteFailure(code: SQLITE_INTERRUPT, message: "a question that took long before") }
    }

    /// `query` was broken off on `connection`.
    func note(_ query: SQLFragment, on connection: Database) {
        state.withLock { state in
            guard state.quick.contains(ObjectIdentifier(connection)) else { return }
            state.estimate.noteLong(query.hashValue)
        }
    }
}
