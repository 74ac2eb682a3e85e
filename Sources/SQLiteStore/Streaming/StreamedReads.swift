import AdapterKit
import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Reads that last as long as somebody takes what they find: each on a thread and a connection of its own, whose
/// transaction keeps the state that it began with.
///
/// As many at once as there are connections, which are opened when they are first needed; further ones wait in turn.
/// What such a read holds back is the log file, which is not emptied below the oldest of them: hence their time is short.
final class StreamedReads: Sendable {
    typealias Body = @Sendable (Database, any PieceOutput) throws -> Void

    /// How many wait at most; more throw `server.overloaded`.
    static let maximumWaiting = 64

    private let places: StreamPlaces
    private let underWay = Mutex<[ObjectIdentifier: PieceExchange]>([:])

    /// `open` makes a connection that nothing breaks off.
    init(limit: Int, open: @escaping @Sendable () throws -> DatabaseQueue) {
        places = StreamPlaces(limit: limit, open: open)
    }

    func start(within time: Duration, _ body: @escaping Body) async throws -> ExchangedPieces {
        let connection = try await places.take()
        let nanoseconds = time / .nanoseconds(1)
        let exchange = PieceExchange(until: .now() + .nanoseconds(Int(min(nanoseconds, 1e18))))
        underWay.withLock { $0[ObjectIdentifier(exchange)] = exchange }
        DispatchQueue(label: "store.stream").async { [self] in
            let result = Result { try Self.run(body, connection, exchange) }
            underWay.withLock { $0[ObjectIdentifier(exchange)] = nil }
            // First the place: who has seen the end finds it free.
            places.leave(connection)
            exchange.finish(result)
        }
        return ExchangedPieces(exchange)
    }

    func close() {
        let exchanges = underWay.withLock { Array($0.values) }
        for exchange in exchanges { exchange.stop(PorticoError.closed) }
        places.close()
    }

    private static func run(_ body: Body, _ connection: DatabaseQueue, _ exchange: PieceExchange) throws {
        do {
            try connection.read { database in
                watch(database, exchange)
                defer { sqlite3_progress_handler(database.sqliteConnection, 0, nil, nil) }
                try body(database, exchange)
            }
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            throw exchange.reasonToEnd ?? failure.asError
        } catch {
            throw translated(error)
        }
    }

    /// A statement may take long between two rows.
    private static func watch(_ database: Database, _ exchange: PieceExchange) {
        sqlite3_progress_handler(
            database.sqliteConnection, steps,
            { context in
                guard let context else { return 0 }
                return Unmanaged<PieceExchange>.fromOpaque(context).takeUnretainedValue().reasonToEnd == nil ? 0 : 1
            }, Unmanaged.passUnretained(exchange).toOpaque())
    }

    /// Of SQLite's virtual machine, well below a millisecond of them.
    private static let steps: Int32 = 20_000
}
