import AdapterKit
import RecordStorage
import SQLiteStore

/// Compares a store that was left open with the ledger of the writers that left it.
struct Verification {
    private let options: Options

    init(_ options: Options) {
        self.options = options
    }

    struct Result {
        /// How long it took until the store could be used, its file checked.
        let opening: Duration
        let acknowledged: Int
    }

    func run() async throws -> Result {
        let start = ContinuousClock.now
        let store = try await Entries.open(options)
        let opening = ContinuousClock.now - start
        let ledger = try LedgerState(contentsOf: options.ledgerPath)
        try await checkRecords(of: store, ledger)
        try await checkLog(of: store, ledger)
        await store.close()
        return Result(opening: opening, acknowledged: ledger.acknowledged.count)
    }

    /// Every record is in a state that is certain or was asked for since; what stands beside its row agrees.
    private func checkRecords(of store: SQLiteStore, _ ledger: LedgerState) async throws {
        let book = try Ledger(options.ledgerPath)
        var there = 0
        for (id, entry) in ledger.entries {
            let record = try await store.record(RecordID(unchecked: id), in: Entries.collection, visible: nil)
            let state = record?["state"].stringValue ?? "-"
            guard entry.possible.contains(state) else {
                throw Failure("\(id) is \(state), possible were \(entry.possible)")
            }
            try book.append("found", id, state)
            if state == "-" { continue }
            there += 1
            for filter: Filter in [.search(words: [state]), .listContains("tags", .string(state))] {
                guard try await store.count(filter, in: Entries.collection) >= 1 else {
                    throw Failure("\(id) is not found by \(filter)")
                }
            }
        }
        guard try await store.count(nil, in: Entries.collection) == there else {
            throw Failure("there are records that nobody wrote")
        }
        guard try await store.count(.listContains("tags", "t"), in: Entries.collection) == there else {
            throw Failure("the lists are out of step")
        }
    }

    /// The log has no gap and holds every acknowledged change.
    private func checkLog(of store: SQLiteStore, _ ledger: LedgerState) async throws {
        var position: Int64 = 0
        var acknowledged = 0
        while true {
            let page = try await store.changes(after: Revision(position), limit: 5000)
            if page.isEmpty { break }
            for entry in page {
                guard entry.position.number == position + 1 else { throw Failure("the log has a gap at \(position)") }
                position += 1
                guard let id = ledger.acknowledged[position] else { continue }
                guard entry.id.text == id else { throw Failure("position \(position) is of another record") }
                acknowledged += 1
            }
        }
        guard acknowledged == ledger.acknowledged.count else {
            throw Failure("acknowledged changes are not in the log")
        }
    }
}
