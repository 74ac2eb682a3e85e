import AdapterKit
import RecordStorage
import Synchronization

/// State of the store as this process knows it: its collections, and the last state of the sequence that it saw.
final class StoreState: Sendable {
    private struct Known {
        var catalogue = LayoutCatalogue()
        var sequence: Sequence
        var isClosed = false
        /// Why the store is of no use to this process any more.
        var end: PorticoError?
    }

    let epoch: Epoch
    private let known: Mutex<Known>
    private let observers = CommitObservers()
    private let undeclaredReads = Atomic<Int>(0)

    init(_ sequence: Sequence) {
        epoch = sequence.epoch
        known = Mutex(Known(sequence: sequence))
        known.withLock { $0.catalogue.generation = sequence.generation }
    }

    var sequence: Sequence { known.withLock { $0.sequence } }

    /// Round trips of group commits for reads that no caller had declared.
    var undeclared: Int { undeclaredReads.load(ordering: .relaxed) }

    func note(undeclared count: Int) { undeclaredReads.add(count, ordering: .relaxed) }

    /// Throws `store.unavailable` once the store is closed or of no use.
    func openCatalogue() throws(PorticoError) -> LayoutCatalogue {
        let (catalogue, isClosed, end) = known.withLock { ($0.catalogue, $0.isClosed, $0.end) }
        if let end { throw end }
        if isClosed { throw .closed }
        return catalogue
    }

    func close() { known.withLock { $0.isClosed = true } }

    func install(_ layouts: [CollectionLayout], generation: Int64) {
        known.withLock { known in
            for layout in layouts { known.catalogue.add(layout) }
            known.catalogue.generation = generation
        }
    }

    /// Compares what a transaction found with what this process knows. Throws `store.unavailable` for another history, and
    /// where another node changed the tables of `catalogue`.
    func check(_ found: Sequence, _ catalogue: LayoutCatalogue?) throws(PorticoError) {
        guard found.epoch == epoch else { throw end(.anotherHistory) }
        guard let catalogue, found.generation != catalogue.generation else { return }
        throw PorticoError(
            .storeUnavailable, "Another node changed the store's tables.",
            logDetail: "generation \(found.generation) instead of \(catalogue.generation)")
    }

    /// Refuses a database that has lost commits that this process knows of: it would give their operation ids again.
    func checkHistory(on connection: Connection) throws {
        let known = sequence
        guard known.commits > 0 else { return }
        try connection.send(Sequence.selection)
        try connection.send("SELECT token FROM portico_commit WHERE number = ?", [.integer(known.commits)])
        let rows = try connection.synchronize(Connection.WaitLimits(deadline: .now + .seconds(10)))
        let found = try Sequence(rows[0])
        guard found.epoch == epoch, found.commits >= known.commits else { throw end(.anotherHistory) }
        if rows[1].count == 1 {
            guard rows[1][0].bytes(0) == known.token else { throw end(.anotherHistory) }
        } else if found.commits - known.commits < Sequence.marks {
            throw end(.anotherHistory)
        }
    }

    private func end(_ error: PorticoError) -> PorticoError {
        known.withLock { $0.end = error }
        return error
    }

    /// To be called with every state that is visible. Older ones change nothing.
    func advance(to sequence: Sequence) {
        let moved: Int64? = known.withLock { known in
            guard sequence.commits > known.sequence.commits || sequence.floor > known.sequence.floor else { return nil }
            let before = known.sequence.position
            if sequence.commits >= known.sequence.commits { known.sequence = sequence }
            return sequence.position > before ? sequence.position : nil
        }
        if let moved { observers.notify(Revision(moved)) }
    }

    func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) { observers.add(observer, body) }
}

extension PorticoError {
    static let anotherHistory = PorticoError(
        .storeUnavailable, "The database lost changes that this node knows of, or was restored: restart it.")
}
