import AdapterKit
import Dispatch
import GRDB
import Synchronization

/// Reads that last as long as somebody takes what they find: each on a thread and a connection of its own, whose
/// transaction keeps the state that it began with.
///
/// As many at once as there are connections, which are opened when they are first needed; further ones wait, shared fairly among callers
/// (``ReadShares``).
/// What such a read holds back is the log file, which is not emptied below the oldest of them: hence their time is short.
final class StreamedReads: Sendable {
    typealias Body = @Sendable (Database, PieceExchange) throws -> Void

    /// How many wait at most; more throw `server.overloaded`.
    static let maximumWaiting = 64

    private let places: ReadPermits
    private let underWay = Mutex<[ObjectIdentifier: PieceExchange]>([:])

    /// `turn`: how long a caller's second read and further ones may go on while another caller has none. `open` makes a
    /// connection that nothing breaks off.
    init(_ count: Int, turn: Duration, open: @escaping @Sendable () throws -> DatabaseQueue) {
        places = ReadPermits(
            ReadShares.Limits(places: count, waiting: Self.maximumWaiting, kept: 1), turn: turn, open: open)
    }

    func start(within time: Duration, _ body: @escaping Body) async throws -> ExchangedPieces {
        let place = try await places.take(for: .current)
        let nanoseconds = time / .nanoseconds(1)
        let exchange = PieceExchange(until: .now() + .nanoseconds(Int(min(nanoseconds, 1e18)))) { [places] in
            places.isTurnOver(of: place)
        }
        underWay.withLock { $0[ObjectIdentifier(exchange)] = exchange }
        DispatchQueue(label: "store.stream").async { [self] in
            let result = Result {
                try place.connection.read(under: exchange) { try body($0, exchange) }
            }
            underWay.withLock { $0[ObjectIdentifier(exchange)] = nil }
            // First the place: who has seen the end finds it free.
            places.leave(place)
            exchange.finish(result)
        }
        return ExchangedPieces(exchange)
    }

    func close() {
        let exchanges = underWay.withLock { Array($0.values) }
        for exchange in exchanges { exchange.stop(PorticoError.closed) }
        places.close()
    }
}
