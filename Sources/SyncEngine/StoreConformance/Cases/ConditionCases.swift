import AdapterKit
import RecordStorage

extension StoreConformance {
    static let conditionCases = [
        ConformanceCase("a change is made only at the revision it names") { store in
            let record = try await store.own.create(["name": "a"], in: "items")
            let changed = try await store.own.update(
                record.id, ["rank": 1], in: "items", if: .revision(record.revision))
            try await expectError(.preconditionFailed, "an older revision") {
                try await store.own.update(record.id, ["rank": 2], in: "items", if: .revision(record.revision))
            }
            try await expectError(.preconditionFailed, "an older revision") {
                try await store.own.delete(record.id, in: "items", if: .revision(record.revision))
            }
            try expectEqual(try await store.own.record(record.id, in: "items"), changed, "the record")
        },
        ConformanceCase("a replacement creates only where it may, and where its condition holds") { store in
            func put(_ condition: RecordChange.Condition, orCreate: Bool = true) async throws {
                let action = RecordChange.Action.replace("x", ["name": "a"], orCreate: orCreate)
                _ = try await store.own.apply([RecordChange("items", action, if: condition)])
            }
            try await expectError(.recordNotFound, "without leave to create") { try await put(.none, orCreate: false) }
            try await expectError(.preconditionFailed, "must exist") { try await put(.exists) }
            try await expectError(.preconditionFailed, "a revision") { try await put(.revision(Revision(1))) }
            try await put(.absent)
            try await expectError(.preconditionFailed, "must be absent") { try await put(.absent) }
            try await put(.exists)
            try await put(.none)
        },
        ConformanceCase("a replacement creates no record whose key the server chooses") { store in
            try await expectError(.recordNotFound, "a number of the caller's") {
                let action = RecordChange.Action.replace("77", ["value": 1], orCreate: true)
                _ = try await store.own.apply([RecordChange("tickets", action)])
            }
        },
        ConformanceCase("a transaction is made whole or not at all") { store in
            let position = store.position
            let changes = [
                RecordChange("items", .create("a", ["name": "a", "tags": ["t"]])),
                RecordChange("tickets", .create(nil, ["value": 1, "code": "c"])),
                RecordChange("items", .update("missing", [:])),
            ]
            try await expectError(.recordNotFound, "the last change") { _ = try await store.own.apply(changes) }
            try expectEqual(try await store.own.count(nil, in: "items"), 0, "items")
            try expectEqual(try await store.own.count(nil, in: "tickets"), 0, "tickets")
            try expectEqual(store.position, position, "the position")
            try expectEqual(try await store.changes(after: Revision(0), limit: 10), [], "the log")
            let receipt = try await store.own.apply(Array(changes.prefix(2)))
            try expectEqual(receipt.records.map { $0?.id.text }, ["a", receipt.records[1]?.id.text], "the receipt")
            try expectEqual(receipt.position, store.position, "the receipt's position")
        },
        ConformanceCase("changes of one transaction see each other") { store in
            let receipt = try await store.own.apply([
                RecordChange("items", .create("a", ["name": "a"])),
                RecordChange("items", .update("a", ["rank": 1])),
                RecordChange("items", .delete("a")),
                RecordChange("items", .create("a", ["name": "b"])),
            ])
            try expectEqual(receipt.records.map { $0?["name"] ?? .null }, ["a", "a", .null, "b"], "the receipt")
            try expectEqual(try await store.own.record("a", in: "items"), receipt.records[3], "the record")
        },
        ConformanceCase("the key in a change may repeat the record's id, but not contradict it") { store in
            try await store.own.create(["id": "x", "name": "a"], in: "items")
            try await store.own.update("x", ["id": "x", "rank": 1], in: "items")
            let error = try await expectError(.requestInvalid, "another id") {
                try await store.own.update("x", ["id": "y"], in: "items")
            }
            try expectEqual(error.target, "id", "what the error names")
        },
    ]

    static let authorCases = [
        ConformanceCase("the server gives creator and times, whatever the caller sends") { store in
            let sent: WireDictionary = [
                "id": "x", "name": "a", "owner": "mallory", "created": .date(WireDate(secondsSince1970: 0)),
            ]
            let record = try await store.seen(by: "ann").create(sent, in: "items")
            try expectEqual(record["owner"], "ann", "the creator")
            try expect(record["created"] != .date(WireDate(secondsSince1970: 0)), "the time is the server's")
            try expectEqual(record["created"], record["modified"], "the times of a new record")
            let changed = try await store.seen(by: "ann").update("x", record.fields, in: "items")
            try expectEqual(changed["owner"], "ann", "the creator after a change")
            try expectEqual(changed["created"], record["created"], "the time of creation after a change")
        },
        ConformanceCase("what a caller gives on creation cannot be changed later") { store in
            try await store.own.create(["id": "x", "name": "a", "serial": "s"], in: "items")
            try await store.own.update("x", ["serial": "s", "rank": 1], in: "items")
            let error = try await expectError(.requestInvalid, "another serial") {
                try await store.own.update("x", ["serial": "t"], in: "items")
            }
            try expectEqual(error.target, "serial", "what the error names")
        },
    ]
}
