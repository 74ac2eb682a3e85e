import AdapterKit
import RecordStorage

/// What a ``MirrorStore`` promises of snapshots. For stores of that kind alone.
extension StoreConformance {
    public static let replacementCases: [ConformanceCase] =
        [true, false].flatMap { isWhole in
            let kind = isWhole ? "as a whole" : "one by one"
            return [
                ConformanceCase("a snapshot makes the collection what it is, \(kind)") { store in
                    for name in ["a", "b", "c"] { try await store.own.create(item(name, "old"), in: "items") }
                    let replacement = try await store.begin()
                    try await replacement.stage([draft("a", "old"), draft("b", "new"), draft("d", "new")], keeping: [])
                    try expectEqual(
                        try await store.names(), ["a": "old", "b": "old", "c": "old"], "before it is applied")
                    let difference = try await replacement.difference()
                    try expectEqual(
                        [difference.known, difference.created, difference.updated, difference.deleted], [3, 1, 1, 1],
                        "the difference")
                    let result = try await replacement.apply(options(isWhole))
                    try expectEqual(result.difference, difference, "what was done")
                    try expectEqual(result.isWhole, isWhole, "how it was done")
                    let position = try await store.exactPosition()
                    try expectEqual(result.position, position, "the position")
                    try expectEqual(try await store.names(), ["a": "old", "b": "new", "d": "new"], "afterwards")
                    let entries = try await store.changes(after: replacement.start, limit: 10)
                    try expectEqual(entries.count, isWhole ? 1 : 3, "log entries")
                    let replaced = try await store.withReadSnapshot { try $0.replacements() }
                    try expectEqual(replaced, isWhole ? [Samples.itemsID: position] : [:], "replaced collections")
                    if isWhole { try expectEqual(entries.map(\.kind), [.replaceAll], "the kind of the entry") }
                },
                ConformanceCase("queries, lists and search find a snapshot's rows, \(kind)") { store in
                    try await store.own.create(item("a", "apple", tags: ["red"]), in: "items")
                    try await store.own.create(item("b", "pear", tags: ["green"]), in: "items")
                    try await store.own.create(item("c", "plum", tags: ["blue"]), in: "items")
                    let replacement = try await store.begin()
                    try await replacement.stage(
                        [draft("a", "quince", tags: ["yellow"]), draft("b", "pear", tags: ["green"])], keeping: [])
                    _ = try await replacement.apply(options(isWhole))
                    func found(_ filter: Filter) async throws -> [RecordID] {
                        try await store.own.query(Query(filter, limit: 10), in: "items").records.map(\.id)
                    }
                    try expectEqual(try await found(.search(words: ["quin"])), ["a"], "a new text")
                    try expectEqual(try await found(.search(words: ["pear"])), ["b"], "a text that stays")
                    try expectEqual(try await found(.search(words: ["apple"])), [], "an old text")
                    try expectEqual(try await found(.search(words: ["plum"])), [], "a deleted text")
                    try expectEqual(try await found(.listContains("tags", "yellow")), ["a"], "a new element")
                    try expectEqual(try await found(.listContains("tags", "green")), ["b"], "an element that stays")
                    try expectEqual(try await found(.listContains("tags", "red")), [], "an old element")
                    try expectEqual(try await found(.compare("name", .equal, "pear")), ["b"], "by an index")
                    // What follows goes to the tables that are there now.
                    try await store.own.create(item("e", "fig", tags: ["violet"]), in: "items")
                    try await store.own.update("b", ["name": "peach"], in: "items")
                    try await store.own.delete("a", in: "items")
                    try expectEqual(try await found(.search(words: ["peach"])), ["b"], "a later change")
                    try expectEqual(try await found(.search(words: ["quin"])), [], "a later deletion")
                    try expectEqual(try await found(.listContains("tags", "violet")), ["e"], "a later creation")
                },
                ConformanceCase("what others change during a snapshot stays as they left it, \(kind)") { store in
                    for name in ["a", "b", "c", "d"] { try await store.own.create(item(name, "old"), in: "items") }
                    let replacement = try await store.begin()
                    try await replacement.stage([draft("a", "new"), draft("b", "new"), draft("x", "new")], keeping: [])
                    try await store.own.update("a", ["name": "theirs"], in: "items")
                    try await store.own.delete("b", in: "items")
                    try await store.own.update("c", ["name": "theirs"], in: "items")
                    try await store.own.create(item("x", "theirs"), in: "items")
                    try await store.own.create(item("y", "theirs"), in: "items")
                    try await replacement.stage([draft("z", "new"), draft("y", "new")], keeping: [])
                    var options = options(isWhole)
                    options.protecting = { _ in ["d"] }
                    _ = try await replacement.apply(options)
                    try expectEqual(
                        try await store.names(),
                        ["a": "theirs", "c": "theirs", "d": "old", "x": "theirs", "y": "theirs", "z": "new"],
                        "afterwards")
                },
                ConformanceCase("fields that a snapshot does not declare stay as they are, \(kind)") { store in
                    for name in ["a", "b"] {
                        var fields = item(name, "old")
                        (fields["active"], fields["rank"]) = (true, 7)
                        try await store.own.create(fields, in: "items")
                    }
                    let replacement = try await store.begin()
                    let rows = try [("a", "old"), ("b", "new"), ("c", "new")].map { id, name in
                        try smallerRules.create(
                            nil, ["id": .string(id), "name": .string(name), "tags": []], authorship)
                    }
                    try await replacement.stage(rows, keeping: [])
                    let result = try await replacement.apply(options(isWhole))
                    try expectEqual([result.difference.created, result.difference.updated], [1, 1], "what was done")
                    try expectEqual(try await store.names(), ["a": "old", "b": "new", "c": "new"], "afterwards")
                    let records = try await store.own.query(Query(order: [SortKey("id")], limit: 9), in: "items")
                        .records
                    try expectEqual(records.map { $0["active"] }, [true, true, false], "a field with a default")
                    try expectEqual(records.map { $0["rank"] }, [7, 7, .null], "a field without one")
                },
                ConformanceCase("an integer key goes on after a snapshot, \(kind)") { store in
                    for _ in 0..<3 { try await store.own.create(["value": 1], in: "tickets") }
                    let replacement = try await mirror(store).beginReplacement(of: Samples.ticketsID)
                    let rules = try EntityRules(Samples.tickets)
                    let rows = try [1, 7].map { (number: Int64) in
                        try rules.create(RecordID(String(number)), ["value": .int64(number)], authorship)
                    }
                    try await replacement.stage(rows, keeping: [])
                    _ = try await replacement.apply(options(isWhole))
                    let next = try await store.own.create(["value": 1], in: "tickets")
                    try expectEqual(next.id, "8", "the next key")
                    try expectEqual(try await store.own.count(nil, in: "tickets"), 3, "records")
                },
            ]
        } + [
            ConformanceCase("equal values in another spelling are no change") { store in
                let fields: WireDictionary = [
                    "name": "\u{E9}", "price": .decimal(WireDecimal("1.50")!), "ratio": 2.0,
                    "at": .date(WireDate(secondsSinceReferenceDate: 5)), "extra": ["a": 1, "b": [2.0]], "rank": 3,
                ]
                try await store.own.create(fields, id: "a", in: "items")
                let other: WireDictionary = [
                    "name": "e\u{301}", "price": .decimal(WireDecimal("1.5")!), "ratio": 2,
                    "at": .date(WireDate(secondsSinceReferenceDate: 5)), "extra": ["b": [2], "a": 1.0], "rank": 3,
                ]
                let before = try await store.exactPosition()
                let replacement = try await store.begin()
                try await replacement.stage([try rules.create("a", other, authorship)], keeping: [])
                let result = try await replacement.apply(ReplacementOptions())
                try expectEqual(result.difference.changes, 0, "changes")
                try expectEqual(try await store.exactPosition(), before, "the position")
            },
            ConformanceCase("a snapshot that is not applied changes nothing, and the next one begins anew") { store in
                try await store.own.create(item("a", "old"), in: "items")
                let first = try await store.begin()
                try await first.stage([draft("b", "lost")], keeping: [])
                let second = try await store.begin()
                try await second.stage([draft("a", "old")], keeping: [])
                try expectEqual(try await second.difference().changes, 0, "of the second alone")
                try await second.discard()
                try await second.discard()
                try expectEqual(try await store.names(), ["a": "old"], "the records")
            },
            ConformanceCase("rows that cannot be taken keep their records, and a repeated key counts once") { store in
                for name in ["a", "b"] { try await store.own.create(item(name, "old"), in: "items") }
                let replacement = try await store.begin()
                try await replacement.stage([draft("c", "first")], keeping: ["a"])
                try await replacement.stage(
                    [draft("c", "second"), draft("b", "new"), draft("b", "again")], keeping: ["x"])
                try expectEqual(try await replacement.difference().repeated, 2, "repeated")
                _ = try await replacement.apply(ReplacementOptions())
                try expectEqual(try await store.names(), ["a": "old", "b": "new", "c": "first"], "afterwards")
            },
            ConformanceCase("missing rows are deleted only where that is wanted, with what belongs to them") { store in
                try await store.own.create(["id": "g", "members": ["ann"]], in: "groups")
                try await store.own.create(["id": "p", "group": "g", "text": "t"], in: "posts")
                let groups = CollectionID(Samples.adapter, "groups")
                for deletes in [false, true] {
                    let replacement = try await mirror(store).beginReplacement(of: groups)
                    var options = ReplacementOptions()
                    options.deletesMissing = deletes
                    _ = try await replacement.apply(options)
                    try expectEqual(try await store.own.count(nil, in: "groups"), deletes ? 0 : 1, "groups")
                    try expectEqual(try await store.own.count(nil, in: "posts"), deletes ? 0 : 1, "posts")
                }
            },
            ConformanceCase("the state of a mirror is stored with its snapshot, and has no log entry") { store in
                let replacement = try await store.begin()
                try expectEqual(
                    try await store.withReadSnapshot { try $0.mirrorState(of: Samples.itemsID) }, nil, "before")
                _ = try await replacement.apply(ReplacementOptions(state: ["cursor": "1"]))
                try expectEqual(
                    try await store.withReadSnapshot { try $0.mirrorState(of: Samples.itemsID) }, ["cursor": "1"],
                    "with it")
                try await store.transact(weight: 1) { try $0.setMirrorState(["cursor": "2"], of: Samples.itemsID) }
                try expectEqual(
                    try await store.withReadSnapshot { try $0.mirrorState(of: Samples.itemsID) }, ["cursor": "2"],
                    "later")
                try expectEqual(try await store.exactPosition(), Revision(0), "the position")
            },
        ]

    private static let rules = (try? EntityRules(Samples.items))!
    /// Of a declaration that lacks two fields.
    private static let smallerRules =
        (try? EntityRules(
            Entity(
                "items", summary: "Things.", key: EntityKey("id"),
                fields: Samples.items.fields.filter { !["active", "rank"].contains($0.name) })))!
    private static let authorship = Authorship(
        author: "system", time: WireDate(secondsSinceReferenceDate: 0), position: Revision(0))

    private static func item(_ id: String, _ name: String, tags: [WireValue] = []) -> WireDictionary {
        ["id": .string(id), "name": .string(name), "tags": .array(tags)]
    }

    private static func draft(_ id: String, _ name: String, tags: [WireValue] = []) throws -> RecordDraft {
        try rules.create(nil, item(id, name, tags: tags), authorship)
    }

    private static func options(_ isWhole: Bool) -> ReplacementOptions {
        var options = ReplacementOptions()
        options.transactionLimit = isWhole ? 0 : 5_000
        return options
    }

    private static func mirror(_ store: any Store) throws -> any MirrorStore {
        guard let store = store as? any MirrorStore else {
            throw ConformanceFailure(description: "the store keeps no mirrors")
        }
        return store
    }
}

extension Store {
    fileprivate func begin() async throws -> any RecordReplacement {
        guard let store = self as? any MirrorStore else {
            throw ConformanceFailure(description: "the store keeps no mirrors")
        }
        return try await store.beginReplacement(of: Samples.itemsID)
    }

    fileprivate func names() async throws -> [String: String] {
        let records = try await own.query(Query(limit: 100), in: "items").records
        return Dictionary(records.map { ($0.id.text, $0["name"].stringValue ?? "") }, uniquingKeysWith: { $1 })
    }
}
