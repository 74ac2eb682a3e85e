import AdapterKit
import MemoryStore
import RecordStorage

/// Compares a store with the reference over generated rows, changes and queries.
struct RandomQueries {
    private let store: any Store
    private var generator: ItemGenerator

    init(store: any Store, seed: UInt64) {
        self.store = store
        generator = ItemGenerator(random: SeededRandom(seed: seed))
    }

    /// Each round changes some rows, then asks ten queries, each page by page to its end.
    func run(rounds: Int) async throws {
        var run = self
        try await run.makeGroups()
        for round in 0..<rounds {
            try await run.changeRows()
            let reference = try await run.reference()
            for _ in 0..<10 { try await run.compare(run.generator.query(), reference, round) }
        }
    }

    private mutating func makeGroups() async throws {
        _ = try await store.own.apply([
            RecordChange("groups", .create("g1", ["members": ["ann", "bob"], "secret": "s"])),
            RecordChange("groups", .create("g2", ["members": ["bob"]])),
        ])
    }

    private mutating func changeRows() async throws {
        for _ in 0..<12 {
            let id = RecordID(unchecked: "r\(generator.number(0...60))")
            let action: RecordChange.Action =
                generator.chance(15)
                ? .delete(id) : .replace(id, generator.fields(id: id.text), orCreate: true)
            do {
                _ = try await store.own.apply([RecordChange("items", action)])
            } catch let error as PorticoError where error.code == .recordNotFound {
                continue
            }
        }
    }

    /// What the store holds, read record by record through the log rather than by a query.
    private func reference() async throws -> ReferenceEvaluator {
        var items: [Record] = []
        for number in 0...60 {
            if let record = try await store.own.record(RecordID(unchecked: "r\(number)"), in: "items") {
                items.append(record)
            }
        }
        var groups: [Record] = []
        for id: RecordID in ["g1", "g2"] {
            if let record = try await store.own.record(id, in: "groups") { groups.append(record) }
        }
        return ReferenceEvaluator(entity: Samples.items, records: items, others: ["groups": groups])
    }

    private func compare(_ first: Query, _ reference: ReferenceEvaluator, _ round: Int) async throws {
        var query = first
        while true {
            let expected = try reference.page(query)
            let found = try await store.own.query(query, in: "items")
            try expect(found == expected, "round \(round), \(query): found \(found.ids), expected \(expected.ids)")
            guard let next = found.next else { return }
            query.start = .after(next)
        }
    }
}

extension RecordPage {
    fileprivate var ids: String { "\(records.map(\.id.text)), total \(total.map { String($0) } ?? "none")" }
}
