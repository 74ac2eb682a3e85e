import GRDB
import GRDBSQLite
import Synchronization

/// Which questions were too long for the quick connections lately: asked again, they go to the ``LongQueryPool`` at once, and
/// what a vain attempt would cost is saved.
///
/// A question is a statement with its values, because the same statement may be quick for one caller and long for
/// another. Every so often one is tried quickly all the same: records go, and indexes come.
final class LongQueryHistory: Sendable {
    private struct State {
        /// Quick connections.
        var quick: Set<ObjectIdentifier> = []
        /// By the question's hash, which is random for each process: how often it goes straight on. Two questions of one
        /// hash would both be answered, one of them by the longer way.
        var long: [Int: Int] = [:]
    }

    /// Questions that are remembered; with one more all are forgotten.
    static let maximum = 1_024
    /// How often a question goes straight to the slow lane before it is tried quickly again.
    static let times = 64

    private let state = Mutex(State())

    /// From now on `connection` is a quick one.
    func watch(_ connection: Database) {
        state.withLock { _ = $0.quick.insert(ObjectIdentifier(connection)) }
    }

    /// Throws as if it had been broken off, where `query` would be.
    func check(_ query: @autoclosure () -> SQLFragment, on connection: Database) throws {
        let isKnown = state.withLock { state in
            guard !state.long.isEmpty, state.quick.contains(ObjectIdentifier(connection)) else { return false }
            let hash = query().hashValue
            guard let left = state.long[hash] else { return false }
            state.long[hash] = left > 1 ? left - 1 : nil
            return true
        }
        if isKnown { throw SQLiteFailure(code: SQLITE_INTERRUPT, message: "a question that took long before") }
    }

    /// `query` was broken off on `connection`.
    func note(_ query: SQLFragment, on connection: Database) {
        state.withLock { state in
            guard state.quick.contains(ObjectIdentifier(connection)) else { return }
            if state.long.count == Self.maximum { state.long = [:] }
            state.long[query.hashValue] = Self.times
        }
    }
}
