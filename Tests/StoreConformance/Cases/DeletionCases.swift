import AdapterKit
import RecordStorage

extension StoreConformance {
    static let deletionCases = [
        ConformanceCase("what belongs to a record is deleted with it, and before it in the log") { store in
            try await store.fillGroup()
            let before = try await store.exactPosition()
            try await store.seen(by: "ann").delete("g", in: "groups")
            try expectEqual(try await store.own.count(nil, in: "posts"), 1, "posts")
            try expectEqual(try await store.own.count(nil, in: "marks"), 1, "marks")
            try expectEqual(try await store.own.count(nil, in: "items"), 1, "what only refers to it")
            let entries = try await store.changes(after: before, limit: 100)
            try expect(entries.allSatisfy { $0.kind == .remove }, "all of them are deletions")
            let order = entries.map { "\($0.collection.entity) \($0.id)" }
            try expectEqual(order.last, "groups g", "the last deletion")
            try expectEqual(
                Set(order.dropLast()), ["posts a", "posts b", "marks 1", "marks 2", "marks 3"], "the others")
            for (owned, owner) in [("marks 1", "posts a"), ("marks 2", "marks 1"), ("marks 3", "marks 2")] {
                let places = [owned, owner].map { order.firstIndex(of: $0) ?? -1 }
                try expect(places[0] < places[1], "\(owned) goes before \(owner)")
            }
            try expectEqual(entries.map(\.position.number), Array(before.number + 1...before.number + 6), "positions")
        },
        ConformanceCase("a caller deletes nothing with which records would go that it may not write") { store in
            try await store.fillGroup()
            let closing = Samples.declaration.granting(
                AccessRights(write: .login), entities: ["marks": AccessRights(write: .nobody)])
            let ann = AdapterRecords(
                store: store, declaration: closing.decidingWriters, principal: Samples.user("ann"))
            let before = try await store.exactPosition()
            try await expectError(.accessDenied, "the group") { try await ann.delete("g", in: "groups") }
            try await expectError(.accessDenied, "the post") { try await ann.delete("a", in: "posts") }
            try expectEqual(try await store.exactPosition(), before, "the position")
            try await store.own.delete("2", in: "marks")
            try await store.own.delete("1", in: "marks")
            try await ann.delete("a", in: "posts")
        },
        ConformanceCase("a receipt shows nothing of a record that its caller may not read") { store in
            try await store.own.create(["id": "g", "members": ["ann"], "secret": "s"], in: "groups")
            let hiding = Samples.declaration.granting(
                .public, entities: ["groups": AccessRights(read: .roles(["auditor"]), write: .login)])
            let ann = AdapterRecords(store: store, declaration: hiding, principal: Samples.user("ann"))
            let changed = try await ann.update("g", ["members": ["ann", "bob"]], in: "groups")
            try expectEqual(Set(changed.fields.keys), ["id", "members"], "the fields")
            try await expectError(.accessDenied, "reading") { try await ann.requireAccess(.reads, to: ["groups"]) }
            try await ann.requireAccess(.writes, to: ["groups"])
        },
        ConformanceCase("records that belong to each other in a circle are deleted together") { store in
            for _ in 0..<3 { try await store.own.create([:], in: "marks") }
            for (id, other) in [("1", 2), ("2", 3), ("3", 1)] as [(RecordID, Int64)] {
                try await store.own.update(id, ["mark": .int64(other)], in: "marks")
            }
            try await store.own.delete("2", in: "marks")
            try expectEqual(try await store.own.count(nil, in: "marks"), 0, "marks")
        },
        ConformanceCase("the id of a deleted private record is taken, but for the caller that deleted it") { store in
            try await store.fillGroup()
            try await store.own.delete("x", in: "items")
            try await store.seen(by: "ann").delete("g", in: "groups")
            for compacts in [false, true] {
                if compacts { _ = try await store.compact(.through(try await store.exactPosition()), dryRun: false) }
                for name in ["bob", "eve"] {
                    try await store.expectTaken("g", for: name, "after a compaction: \(compacts)")
                }
            }
            let ann = store.seen(by: "ann")
            try await ann.create(["id": "h", "members": ["ann"]], in: "groups")
            try await store.own.delete("h", in: "groups")
            try await store.expectTaken("h", for: "ann", "what the adapter deleted")
            try await store.own.create(["id": "h", "members": ["ann"]], in: "groups")
        },
        ConformanceCase("a record that is created again has nothing of the old one") { store in
            try await store.fillGroup()
            // What refers to it without belonging to it would be shown to the new group's members.
            try await store.own.delete("x", in: "items")
            let ann = store.seen(by: "ann")
            try await ann.delete("g", in: "groups")
            try await ann.create(["id": "g", "members": ["ann", "eve"]], in: "groups")
            for name in ["ann", "eve"] {
                let posts = try await store.seen(by: name).count(.compare("group", .equal, "g"), in: "posts")
                try expectEqual(posts, 0, "the posts that \(name) sees")
            }
        },
        ConformanceCase("no caller creates a record to which records refer already") { store in
            try await store.own.create(["id": "x", "name": "a", "group": "g"], in: "items")
            try await store.own.create(["id": "a", "group": "h", "text": "t"], in: "posts")
            for id in ["g", "h"] as [RecordID] { try await store.expectTaken(id, for: "bob", "the group \(id)") }
            try await store.own.create(["id": "h", "members": ["bob"]], in: "groups")
            try expectEqual(try await store.seen(by: "bob").count(nil, in: "posts"), 1, "what the adapter arranges")
        },
        ConformanceCase("an invisible record is answered like an absent one, for every change and condition") { store in
            try await store.own.create(["id": "seen-by-none", "members": ["ann"]], in: "groups")
            try await store.seen(by: "ann").create(["id": "seen-by-none", "name": "a"], in: "items")
            let (bob, fields): (AdapterRecords, [EntityName: WireDictionary]) = (
                store.seen(by: "bob"), ["items": ["name": "b"], "groups": ["members": ["bob"]]]
            )
            for (entity, fields) in fields {
                for condition in [.none, .exists, .absent, .revision(Revision(1))] as [RecordChange.Condition] {
                    for number in 0..<6 {
                        func code(_ id: RecordID) async -> String {
                            let sent = number < 3 ? fields : ["unknown": 1]
                            let actions: [RecordChange.Action] = [
                                .update(id, sent), .delete(id), .replace(id, sent, orCreate: false),
                                .update(id, sent), .replace(id, sent, orCreate: true), .create(id, sent),
                            ]
                            do {
                                _ = try await bob.apply([RecordChange(entity, actions[number], if: condition)])
                                return "done"
                            } catch let error as PorticoError {
                                return "\(error.code) \(error.message) \(error.target ?? "")"
                            } catch { return "\(error)" }
                        }
                        let (invisible, absent) = (await code("seen-by-none"), await code("never-there"))
                        try expectEqual(invisible, absent, "\(entity), change \(number), \(condition)")
                    }
                    let put = { (id: RecordID) async throws in
                        let action = RecordChange.Action.replace(id, fields, orCreate: true)
                        _ = try await bob.apply([RecordChange(entity, action, if: condition)])
                    }
                    switch condition {
                    case .exists, .revision:
                        for id in ["seen-by-none", "never-there"] as [RecordID] {
                            try await expectError(.preconditionFailed, "PUT of \(id)") { try await put(id) }
                        }
                    // The one difference that remains: an id that is taken cannot be given.
                    case .absent: try await expectError(.preconditionFailed, "PUT") { try await put("seen-by-none") }
                    case .none: try await expectError(.recordExists, "PUT") { try await put("seen-by-none") }
                    }
                }
            }
        },
        ConformanceCase("a list that is longer than declared is refused, and one that was may become shorter") {
            store in
            try await expectError(.requestLimitExceeded, "four") {
                try await store.own.create(["list": [1, 2, 3, 4]], in: "marks")
            }
            let record = try await store.own.create(["list": [1, 2, 3]], in: "marks")
            let error = try await expectError(.requestLimitExceeded, "a fourth") {
                try await store.own.update(record.id, ["list": [1, 2, 3, 4]], in: "marks")
            }
            try expectEqual(error.target, "list", "what the error names")
        },
    ]
}

extension Store {
    /// Ann's group `g` with bob, two posts in it and marks of them; a post, a mark and an item elsewhere.
    fileprivate func fillGroup() async throws {
        try await own.create(["id": "g", "members": ["ann", "bob"]], in: "groups")
        try await own.create(["id": "other", "members": ["ann"]], in: "groups")
        for (id, group) in [("a", "g"), ("b", "g"), ("c", "other")] {
            try await own.create(["id": .string(id), "group": .string(group), "text": "t"], in: "posts")
        }
        try await own.create(["post": "a"], in: "marks")
        try await own.create(["mark": 1], in: "marks")
        try await own.create(["mark": 2], in: "marks")
        try await own.create(["post": "c"], in: "marks")
        try await own.create(["id": "x", "name": "x", "group": "g"], in: "items")
    }

    fileprivate func expectTaken(_ id: RecordID, for name: String, _ promise: String) async throws {
        let caller = seen(by: name)
        let error = try await expectError(.recordExists, "\(promise), \(name)") {
            try await caller.create(["id": .string(id.text), "members": [.string(name)]], in: "groups")
        }
        try expectEqual(error.message, "There is a record `\(id)` already.", "the words")
        try await expectError(.recordExists, "\(promise), \(name) by PUT") {
            let action = RecordChange.Action.replace(id, ["members": [.string(name)]], orCreate: true)
            _ = try await caller.apply([RecordChange("groups", action)])
        }
        try expectEqual(try await own.record(id, in: "groups"), nil, "the record")
    }
}

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
            let position = try await store.exactPosition()
            let changes = [
                RecordChange("items", .create("a", ["name": "a", "tags": ["t"]])),
                RecordChange("tickets", .create(nil, ["value": 1, "code": "c"])),
                RecordChange("items", .update("missing", [:])),
            ]
            try await expectError(.recordNotFound, "the last change") { _ = try await store.own.apply(changes) }
            try expectEqual(try await store.own.count(nil, in: "items"), 0, "items")
            try expectEqual(try await store.own.count(nil, in: "tickets"), 0, "tickets")
            try expectEqual(try await store.exactPosition(), position, "the position")
            try expectEqual(try await store.changes(after: Revision(0), limit: 10), [], "the log")
            let receipt = try await store.own.apply(Array(changes.prefix(2)))
            try expectEqual(receipt.records.map { $0?.id.text }, ["a", receipt.records[1]?.id.text], "the receipt")
            try expectEqual(receipt.position, try await store.exactPosition(), "the receipt's position")
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
