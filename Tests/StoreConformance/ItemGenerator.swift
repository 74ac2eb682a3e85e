import AdapterKit
import RecordStorage

/// Makes records and conditions whose values often meet: few different ones, nulls among them.
struct ItemGenerator {
    var random: SeededRandom

    private static let texts = ["", "a", "ab", "abc", "b", "é", "Ann Bee", "ann", "bee cee", "Cee"]
    private static let words = ["a", "ann", "be", "CEE", "bee", "x"]

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &random)! }
    mutating func number(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &random) }
    mutating func chance(_ percent: Int64) -> Bool { number(1...100) <= percent }
    mutating func text() -> String { pick(Self.texts) }
    mutating func word() -> String { pick(Self.words) }

    mutating func fields(id: String) -> WireDictionary {
        var fields: WireDictionary = ["id": .string(id), "name": .string(text())]
        for name: FieldName in ["note", "rank", "ratio", "price", "active", "at", "bytes", "tags", "marks", "group"] {
            fields[name.text] = chance(25) ? .null : value(of: name)
        }
        if fields["active"] == .null { fields["active"] = nil }
        return fields
    }

    mutating func value(of field: FieldName) -> WireValue {
        switch field {
        case "rank": .int64(number(-2...2))
        case "ratio": .double(Double(number(-4...4)) / 2)
        case "price": .decimal(WireDecimal(pick(["-1.5", "0", "0.00", "1", "1.0", "2.25", "10", "100"]))!)
        case "active": .bool(chance(50))
        case "at": .date(WireDate(secondsSinceReferenceDate: Double(number(0...3)) / 4))
        case "bytes": .data(pick([[], [0], [0, 1], [255]]))
        case "tags": .array((0..<number(0...3)).map { _ in .string(text()) })
        case "marks": .array((0..<number(0...3)).map { _ in .int64(number(0...2)) })
        case "group": .string(pick(["g1", "g2", "g3"]))
        case "id": .string("r\(number(0...60))")
        default: .string(text())
        }
    }
}

extension ItemGenerator {
    private static let single: [FieldName] = [
        "id", "name", "note", "rank", "ratio", "price", "active", "at", "bytes", "group",
    ]

    mutating func query() -> Query {
        let order = (0..<number(0...3)).map { _ in SortKey(pick(Self.single), descending: chance(50)) }
        let filter = chance(85) ? self.filter(depth: 3) : nil
        let start: Query.Start = chance(20) ? .offset(Int(number(0...20))) : .first
        return Query(filter, order: order, limit: Int(number(1...12)), start: start, countsAll: chance(50))
    }

    mutating func filter(depth: Int) -> Filter {
        guard depth > 0, chance(50) else { return leaf() }
        switch number(0...2) {
        case 0: return .all((0..<number(0...3)).map { _ in filter(depth: depth - 1) })
        case 1: return .any((0..<number(0...3)).map { _ in filter(depth: depth - 1) })
        default: return .not(filter(depth: depth - 1))
        }
    }

    private mutating func leaf() -> Filter {
        switch number(0...9) {
        case 0: return .isNull(pick(Self.single + ["tags", "extra"]))
        case 1:
            let field = pick(Self.single)
            let count = chance(20) ? number(8...20) : number(0...3)
            return .oneOf(field, (0..<count).map { _ in chance(10) ? .null : value(of: field) })
        case 2: return .hasPrefix(pick(["name", "note", "group"]), text())
        case 3: return .hasSuffix(pick(["name", "note"]), text())
        case 4: return .containsText(pick(["name", "note"]), text())
        case 5:
            return chance(50) ? .listContains("tags", .string(text())) : .listContains("marks", .int64(number(0...3)))
        case 6: return .search(words: (0..<number(1...2)).map { _ in word() })
        case 7: return .related("group", "groups", chance(50) ? .listContains("members", "ann") : .isNull("secret"))
        default: return comparison()
        }
    }

    private mutating func comparison() -> Filter {
        let field = pick(Self.single)
        return .compare(field, pick(Comparison.allCases), chance(5) ? .null : value(of: field))
    }
}

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
    private func reference() async throws -> Reference {
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
        let evaluator = FilterReference(Samples.items) { [groups] name, id in
            groups.first { name == Samples.groups.name && $0.id == id }.map { (Samples.groups, $0) }
        }
        return Reference(evaluator: evaluator, records: items)
    }

    private func compare(_ first: Query, _ reference: Reference, _ round: Int) async throws {
        var query = first
        while true {
            let expected = try reference.evaluator.page(query, of: reference.records)
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

/// The records of the store, and what queries of them mean.
private struct Reference {
    let evaluator: FilterReference
    let records: [Record]
}
