import AdapterKit
import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Reads that take long, each with a connection and a thread: however many are asked for, they use as many cores at most.
/// They are shared fairly among callers (``ReadShares``). Cancelling the task breaks its read off.
final class LongQueryPool: Sendable {
    /// How many long reads wait at most; more throw `server.overloaded`.
    static let maximumWaiting = 64

    /// Long reads go through whole tables, and again and again through the same ones: with a cache that is smaller, every
    /// page would come from the kernel every time.
    static let cacheKilobytes = 32_768

    private let places: ReadPermits
    private let underWay = Mutex<[ObjectIdentifier: LongReadControl]>([:])

    /// `turn`: how long a read may go on while a caller waits who has none.
    init(_ count: Int, turn: Duration, open: @escaping @Sendable () throws -> DatabaseQueue) {
        places = ReadPermits(
            ReadShares.Limits(places: count, waiting: Self.maximumWaiting), turn: turn, open: open)
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Database, any ReadControl) throws -> Result
    ) async throws -> Result {
        let place = try await places.take(for: .current)
        let control = LongReadControl(place, of: places)
        underWay.withLock { $0[ObjectIdentifier(control)] = control }
        defer {
            underWay.withLock { $0[ObjectIdentifier(control)] = nil }
            places.leave(place)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { reader in
                DispatchQueue(label: "store.long").async {
                    reader.resume(with: Swift.Result { try Self.run(body, on: place.connection, control) })
                }
            }
        } onCancel: {
            control.stop(CancellationError())
        }
    }

    func close() {
        let controls = underWay.withLock { Array($0.values) }
        for control in controls { control.stop(PorticoError.closed) }
        places.close()
    }

    private static func run<Result: Sendable>(
        _ body: @Sendable (Database, any ReadControl) throws -> Result, on connection: DatabaseQueue,
        _ control: LongReadControl
    ) throws -> Result {
        var result: Result?
        try connection.read(under: control) { database in
            try control.check()
            result = try body(database, control)
        }
        guard let result else { throw PorticoError(.serverInternal, "The store made a mistake.") }
        return result
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
