/// Who has which connection, and which may go on in the transaction of the read before: the state machine behind
/// ``ReaderPool``, which holds it under a lock and does what it says.
///
/// Beginning and ending a read transaction takes two calls of the kernel and looks anew at what the file holds, for many
/// reads as long as the reading itself. So a transaction is kept as long as nothing is written: the one writer begins
/// and ends a turn around everything it does, and takes back what is kept before.
/// Why it is there: docs/decisions/0031-run-reads-on-the-calling-thread.md.
struct ReadingTurns {
    struct Place {
        let connection: Int
        /// Whether the connection's transaction, if it has one, is of the present state.
        let goesOn: Bool
        fileprivate let turn: Int
        /// False where somebody else has it too, who is waited for.
        fileprivate let isOwned: Bool
    }

    /// Those that nobody has, and in which turn the transaction began that each holds.
    private var free: [(connection: Int, since: Int?)]
    private let count: Int
    /// Which connection the next one shares who finds none free.
    private var shared = 0
    /// How often writing has begun and ended: odd while somebody writes.
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

    /// Whether the transaction may stay open. Whoever shares a connection does not know who comes next.
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
