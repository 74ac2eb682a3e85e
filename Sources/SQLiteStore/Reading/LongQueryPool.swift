import AdapterKit
import Admission
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

    /// Reads that run and that wait.
    var counts: AdmissionCounts { places.counts }

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
