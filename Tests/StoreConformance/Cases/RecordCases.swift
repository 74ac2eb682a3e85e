import AdapterKit
import RecordStorage

extension StoreConformance {
    static let recordCases = [
        ConformanceCase("a record is read as it was written, every kind of value exactly") { store in
            let fields = everything
            let written = try await store.own.create(fields, in: "items")
            let read = try await store.own.record(written.id, in: "items")
            try expectEqual(read, written, "what was read")
            for entry in fields { try expectEqual(read?.fields[entry.key], entry.value, "field \(entry.key)") }
        },
        ConformanceCase("fields come in declared order, those without a value as null") { store in
            let record = try await store.own.create(["name": "a"], in: "items")
            try expectEqual(record.fields.keys, Samples.items.fields.map(\.name.text), "keys")
            try expectEqual(record["rank"], .null, "a field left out")
            try expectEqual(record["active"], false, "a field with a default")
        },
        ConformanceCase("an update changes the named fields only") { store in
            let record = try await store.own.create(["name": "a", "rank": 1, "note": "n"], in: "items")
            let changed = try await store.own.update(record.id, ["rank": 2, "note": .null], in: "items")
            try expectEqual(changed["rank"], 2, "the named field")
            try expectEqual(changed["note"], .null, "the field set to null")
            try expectEqual(changed["name"], "a", "the other field")
            try expect(changed.revision > record.revision, "the revision grows")
            try expectEqual(try await store.own.record(record.id, in: "items"), changed, "what was read")
        },
        ConformanceCase("a replacement sets fields that it does not name to their default") { store in
            let record = try await store.own.create(["name": "a", "rank": 1, "active": true], in: "items")
            let change = RecordChange("items", .replace(record.id, ["name": "b"], orCreate: false))
            let replaced = try await store.own.apply([change]).records[0]
            try expectEqual(replaced?["rank"], .null, "a field not named")
            try expectEqual(replaced?["active"], false, "a field with a default")
            try expectEqual(replaced?["created"], record["created"], "when it was created")
        },
        ConformanceCase("a deleted record is gone, and its id can be used again") { store in
            let record = try await store.own.create(["id": "x", "name": "a", "tags": ["t"]], in: "items")
            try await store.own.delete(record.id, in: "items")
            try expectEqual(try await store.own.record("x", in: "items"), nil, "what is left")
            let again = try await store.own.create(["id": "x", "name": "b"], in: "items")
            try expect(again.revision > record.revision, "the new revision is larger")
            let tagged = try await store.own.count(.listContains("tags", "t"), in: "items")
            try expectEqual(tagged, 0, "rows found by the old record's list")
        },
        ConformanceCase("changing or deleting what is not there is record.notFound") { store in
            try await expectError(.recordNotFound, "an update") { try await store.own.update("x", [:], in: "items") }
            try await expectError(.recordNotFound, "a deletion") { try await store.own.delete("x", in: "items") }
            try await expectError(.recordNotFound, "no number") { try await store.own.delete("x", in: "tickets") }
        },
        ConformanceCase("an id that is taken is record.exists") { store in
            try await store.own.create(["id": "x", "name": "a"], in: "items")
            try await expectError(.recordExists, "the same id") {
                try await store.own.create(["id": "x", "name": "b"], in: "items")
            }
        },
        ConformanceCase("a value that must be unique is record.exists, null aside") { store in
            try await store.own.create(["code": "a", "value": 1], in: "tickets")
            let error = try await expectError(.recordExists, "the same code") {
                try await store.own.create(["code": "a", "value": 2], in: "tickets")
            }
            try expectEqual(error.target, "code", "what the error names")
            for _ in 0..<2 { try await store.own.create(["value": 3], in: "tickets") }
        },
        ConformanceCase("integer keys are counted, and none is given twice") { store in
            let first = try await store.own.create(["value": 1], in: "tickets")
            let second = try await store.own.create(["value": 1], in: "tickets")
            try await store.own.delete(second.id, in: "tickets")
            let third = try await store.own.create(["value": 1], in: "tickets")
            try expect(
                third["number"].int64Value! > second["number"].int64Value!, "the deleted number is not used again")
            try expectEqual(first.id.text, "\(first["number"].int64Value!)", "the id")
            try expectEqual(try await store.own.record(first.id, in: "tickets"), first, "what was read")
            for id: RecordID in ["01", "+1", "1.0", "one"] {
                try expectEqual(try await store.own.record(id, in: "tickets"), nil, "no number's text")
            }
        },
        ConformanceCase("what does not fit the declaration is refused with the field's name") { store in
            let wrong: [(WireDictionary, String)] = [
                (["name": 1], "name"), ([:], "name"), (["name": "a", "rank": "1"], "rank"),
                (["name": "a", "tags": ["x", 1]], "tags[1]"), (["name": "a", "other": 1], "other"),
                (["name": "a", "ratio": .double(.nan)], "ratio"), (["name": .null], "name"),
            ]
            for (fields, target) in wrong {
                let error = try await expectError(.requestInvalid, target) {
                    try await store.own.create(fields, in: "items")
                }
                try expectEqual(error.target, target, "what the error names")
            }
            try expectEqual(try await store.own.count(nil, in: "items"), 0, "records")
        },
        ConformanceCase("entities that are not declared are out of reach") { store in
            try await expectError(.routeNotFound, "another entity") {
                _ = try await store.own.record("x", in: "others")
            }
        },
    ]

    /// A value of every kind, at the ends of what they hold.
    static var everything: WireDictionary {
        [
            "id": "ключ/1", "name": "Ünïcode \r\n\t é \u{1F600}", "note": "", "rank": .int64(.min),
            "ratio": .double(.leastNonzeroMagnitude),
            "price": .decimal(WireDecimal("-0.10000000000000000000000000000000000001")!),
            "active": true, "at": .date(WireDate(secondsSinceReferenceDate: 1.0 / 3)), "bytes": .data([0, 255, 0]),
            "tags": ["b", "a", "b", ""], "marks": [.int64(.max), 0], "group": "g",
            "extra": [
                "nested": [1, ["none": .null], .data([]), .uint64(.max), .double(-0.0)],
                "d": .decimal(WireDecimal("1e400")!),
                "at": .date(WireDate(secondsSinceReferenceDate: 0.1)),
            ],
            "serial": "s",
        ]
    }
}

extension StoreConformance {
    /// The records of an entity with these fields and a key, declared anew.
    private static func changing(_ fields: [Field], _ store: any Store) async throws -> AdapterRecords {
        let key = Field("id", .string(maximumLength: 64), isRequired: true)
        let entity = Entity("changing", summary: "", key: EntityKey("id"), fields: [key] + fields)
        try await store.install([CollectionDeclaration(adapter: "samples", entity: entity)])
        let declaration = AdapterDeclaration(name: "samples", title: "", summary: "", version: "1", entities: [entity])
        return AdapterRecords(store: store, declaration: declaration)
    }

    static let installCases = [
        ConformanceCase("installing the same declarations again changes nothing") { store in
            let record = try await store.own.create(everything, in: "items")
            try await store.install(Samples.collections)
            try expectEqual(try await store.own.record(record.id, in: "items"), record, "the record")
            try expectEqual(try await store.exactPosition(), record.revision, "the position")
        },
        ConformanceCase("another declaration hides fields, fills in defaults and shows fields again") { store in
            func records(_ fields: [Field]) async throws -> AdapterRecords { try await changing(fields, store) }
            let (a, b) = (Field("a", .string), Field("b", .integer, isRequired: true, defaultValue: 7))
            let first = try await records([a]).create(["id": "x", "a": "one"], in: "changing")
            let second = try await records([b]).record("x", in: "changing")
            try expectEqual(second?.fields, ["id": "x", "b": 7], "the record with its default")
            try expectEqual(second.map { $0.revision > first.revision }, true, "the default is a change")
            try await records([a]).create(["id": "y", "a": "two"], in: "changing")
            let both = try await records([a, b])
            try expectEqual(
                try await both.record("x", in: "changing")?.fields, ["id": "x", "a": "one", "b": 7], "both again")
            try expectEqual(
                try await both.record("y", in: "changing")?.fields, ["id": "y", "a": "two", "b": 7], "the later one")
        },
        ConformanceCase("records that came while a field was hidden get its default, unless it may be null") { store in
            let fields = [
                Field("optional", .string, defaultValue: "normal"),
                Field("required", .integer, isRequired: true, defaultValue: 7),
                Field("list", .list(of: .string), defaultValue: ["t"]),
                Field("nullable", .string, isNullable: true, defaultValue: "some"),
                Field("plain", .string),
            ]
            let first = try await changing(fields, store)
            try await first.create(["id": "old", "optional": "high", "list": ["u"], "nullable": .null], in: "changing")
            let without = try await changing([], store)
            try await without.create(["id": "made"], in: "changing")
            try await without.delete("old", in: "changing")
            let last = try await without.create(["id": "old"], in: "changing").revision
            let again = try await changing(fields, store)
            let filled: WireDictionary = [
                "optional": "normal", "required": 7, "list": ["t"], "nullable": .null, "plain": .null,
            ]
            for id in ["made", "old"] as [RecordID] {
                var expected = filled
                expected["id"] = .string(id.text)
                let record = try await again.record(id, in: "changing")
                let values = record?.fields.map { "\($0.key): \($0.value)" }.sorted()
                try expectEqual(
                    values, expected.map { "\($0.key): \($0.value)" }.sorted(), "the record \(id)")
                try expectEqual(record.map { $0.revision > last }, true, "the default is a change")
            }
            try expectEqual(
                try await again.count(.compare("optional", .equal, "normal"), in: "changing"), 2,
                "those with the default")
            try expectEqual(try await again.count(.listContains("list", "t"), in: "changing"), 2, "those with the list")
            try expectEqual(try await again.count(.listContains("list", "u"), in: "changing"), 0, "what is gone")
            try expectEqual(
                try await store.changes(after: last, limit: 100).suffix(2).map(\.id.text).sorted(),
                ["made", "old"], "what replicas learn of")
        },
        ConformanceCase("a declaration that contradicts itself is refused, and nothing of it is made") { store in
            let entity = Entity(
                "broken", summary: "", key: EntityKey("id"), fields: [Field("id", .string)],
                indexes: [Index(["missing"])])
            try await expectError(.serverInternal, "an index of nothing") {
                try await store.install([CollectionDeclaration(adapter: "samples", entity: entity)])
            }
        },
    ]
}

extension StoreConformance {
    static let accessCases = [
        ConformanceCase("a caller that may not see a row finds nothing of it") { store in
            try await store.seen(by: "ann").create(["id": "x", "name": "a"], in: "items")
            let bob = store.seen(by: "bob")
            try expectEqual(try await bob.record("x", in: "items"), nil, "the record")
            try expectEqual(try await bob.count(nil, in: "items"), 0, "the count")
            try expectEqual(try await bob.count(.not(.never), in: "items"), 0, "the count of everything")
            let page = try await bob.query(Query(.any([.always, .isNull("rank")]), countsAll: true), in: "items")
            try expectEqual(page, RecordPage(records: [], next: nil, total: 0), "the page")
            try await expectError(.recordNotFound, "an update") { try await bob.update("x", [:], in: "items") }
            try await expectError(.recordNotFound, "a deletion") { try await bob.delete("x", in: "items") }
        },
        ConformanceCase("rows are seen through ownership, sharing, membership and roles") { store in
            try await store.own.create(["id": "g", "members": ["cy", "di"]], in: "groups")
            try await store.seen(by: "ann").create(
                ["id": "x", "name": "a", "tags": ["bob"], "group": "g"], in: "items")
            for name in ["ann", "bob", "cy"] {
                try expect(try await store.seen(by: name).record("x", in: "items") != nil, "\(name) sees it")
            }
            try expectEqual(try await store.seen(by: "eve").record("x", in: "items"), nil, "what a stranger sees")
            let auditor = store.seen(by: "eve", roles: ["auditor"])
            try expect(try await auditor.record("x", in: "items") != nil, "the role sees it")
        },
        ConformanceCase("a caller that may read a row and not write it gets access.denied") { store in
            try await store.seen(by: "ann").create(["id": "x", "name": "a", "tags": ["bob"]], in: "items")
            let bob = store.seen(by: "bob")
            try await expectError(.accessDenied, "an update") { try await bob.update("x", ["rank": 1], in: "items") }
            try await expectError(.accessDenied, "a deletion") { try await bob.delete("x", in: "items") }
            try await expectError(.accessDenied, "a replacement") {
                let action = RecordChange.Action.replace("x", ["name": "b"], orCreate: true)
                _ = try await bob.apply([RecordChange("items", action)])
            }
        },
        ConformanceCase("a row must be writable as it was and as it will be") { store in
            let ann = store.seen(by: "ann")
            try await store.own.create(["id": "g", "members": ["ann"]], in: "groups")
            try await ann.update("g", ["secret": "s"], in: "groups")
            try await expectError(.accessDenied, "giving it away") {
                try await ann.update("g", ["members": ["bob"]], in: "groups")
            }
            try await expectError(.accessDenied, "creating another's") {
                try await ann.create(["id": "h", "members": ["bob"]], in: "groups")
            }
            try expectEqual(try await store.own.record("g", in: "groups")?["members"], ["ann"], "the members")
        },
        ConformanceCase("a filter over related records reveals nothing of those that the caller may not see") { store in
            try await store.own.create(["id": "g", "members": ["zoe"], "secret": "s3"], in: "groups")
            let ann = store.seen(by: "ann")
            try await ann.create(["name": "a", "group": "g"], in: "items")
            let probe = Filter.related("group", "groups", .hasPrefix("secret", "s"))
            try expectEqual(try await ann.count(probe, in: "items"), 0, "rows found by a foreign secret")
            try expectEqual(try await ann.count(.not(probe), in: "items"), 1, "rows found by its negation")
            try expectEqual(try await store.own.count(probe, in: "items"), 1, "rows that the adapter finds")
        },
    ]
}
