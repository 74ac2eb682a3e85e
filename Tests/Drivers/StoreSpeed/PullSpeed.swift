import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore

/// What a replica's pulls cost the store: all of 100,000 records, page by page, and 100 changes, with 100,000 and with
/// 1,000,000 records there. Prints `pull WHAT RECORDS MICROSECONDS`.
struct PullSpeed {
    let directory: URL

    func run() async throws {
        let store = try SQLiteStore(
            SQLiteStoreSettings(path: directory.appending(path: "pulls.sqlite").path, clock: FixedClock()))
        try await store.install([CollectionDeclaration(adapter: "staff", entity: People.unsearched)])
        try await fill(store, 0..<100_000)
        try await report("first", 100_000) { try await snapshot(store) }
        try await report("delta", 100_000) { try await delta(store) }
        try await fill(store, 100_000..<1_000_000)
        try await report("delta", 1_000_000) { try await delta(store) }
        await store.close()
    }

    private func fill(_ store: SQLiteStore, _ numbers: Range<Int>) async throws {
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 2000) {
            let steps = (first..<first + 2000).map { number in
                WriteTransaction.Step(adapter: "staff", change: People.creation(number))
            }
            _ = try await store.write(WriteTransaction(steps, author: "ann"))
        }
    }

    /// The best of three: the machine has other work.
    private func report(_ what: String, _ records: Int, _ body: () async throws -> Void) async throws {
        var best = Duration.seconds(1_000)
        for _ in 0..<3 {
            let start = ContinuousClock.now
            try await body()
            best = min(best, ContinuousClock.now - start)
        }
        print("pull \(what) \(records) \(Int(best / .microseconds(1)))")
    }

    private func snapshot(_ store: SQLiteStore) async throws {
        var query = Query(limit: 1000)
        var found = 0
        while true {
            let page = try await store.query(query, in: People.collection)
            found += page.records.count
            guard let next = page.next else { break }
            query.start = .after(next)
        }
        guard found == 100_000 else { throw PorticoError(.serverInternal, "\(found) records were found") }
    }

    private func delta(_ store: SQLiteStore) async throws {
        let position = Revision(store.position.number - 100)
        let found = try await store.withReadSnapshot { snapshot in
            try snapshot.changes(after: position, limit: 1000).count { entry in
                try snapshot.record(entry.id, in: entry.collection, visible: .compare("division", .notEqual, "none"))
                    != nil
            }
        }
        guard found == 100 else { throw PorticoError(.serverInternal, "\(found) changes were found") }
    }
}
