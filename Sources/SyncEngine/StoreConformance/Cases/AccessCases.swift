import AdapterKit
import RecordStorage

extension StoreConformance {
    static let accessCases = [
        ConformanceCase("whoever may not see a row finds nothing of it") { store in
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
        ConformanceCase("whoever sees a row that is not theirs to write is access.denied") { store in
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
        ConformanceCase("a filter over related records tells nothing of those one may not see") { store in
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
