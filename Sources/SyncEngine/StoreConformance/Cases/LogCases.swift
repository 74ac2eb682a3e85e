import AdapterKit
import RecordStorage

extension StoreConformance {
    static let logCases = [
        ConformanceCase("every change has its log entry, in order, with the record's revision") { store in
            let created = try await store.own.create(["id": "x", "name": "a"], in: "items")
            let updated = try await store.own.update("x", ["rank": 1], in: "items")
            try await store.own.delete("x", in: "items")
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log.map(\.kind), [.put, .put, .remove], "kinds")
            try expectEqual(log.prefix(2).map(\.position), [created.revision, updated.revision], "positions")
            try expect(log.allSatisfy { $0.collection == Samples.itemsID && $0.id == "x" }, "the record")
            try expectEqual(log.last?.position, store.position, "the last position")
        },
        ConformanceCase("an entry tells what row rules saw before the change") { store in
            try await store.seen(by: "ann").create(["id": "x", "name": "a", "tags": ["t"], "group": "g"], in: "items")
            try await store.seen(by: "ann").update("x", ["tags": ["u"]], in: "items")
            try await store.seen(by: "ann").delete("x", in: "items")
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log[0].previousScopeValues, [:], "of a new record")
            try expectEqual(
                log[1].previousScopeValues, ["owner": "ann", "tags": ["t"], "group": "g"], "of a changed record")
            try expectEqual(log[2].previousScopeValues["tags"], ["u"], "of a deleted record")
        },
        ConformanceCase("the log is read in pages from any position") { store in
            for _ in 0..<5 { try await store.own.create(["name": "a"], in: "items") }
            let whole = try await store.changes(after: Revision(0), limit: 100)
            try expectEqual(whole.count, 5, "entries")
            let first = try await store.changes(after: Revision(0), limit: 2)
            let rest = try await store.changes(after: first[1].position, limit: 100)
            try expectEqual(first + rest, whole, "the pages together")
            try expectEqual(try await store.changes(after: store.position, limit: 1), [], "after the last")
        },
        ConformanceCase("an adapter's position moves with its own records only") { store in
            let other = CollectionDeclaration(adapter: "others", entity: Samples.tickets)
            try await store.install([other])
            try await store.own.create(["name": "a"], in: "items")
            let before = store.position(of: Samples.adapter)
            try expectEqual(before, store.position, "the adapter that changed")
            let step = WriteTransaction.Step(
                adapter: "others", change: RecordChange("tickets", .create(nil, ["value": 1])))
            let receipt = try await store.write(WriteTransaction([step], author: "system"))
            try expectEqual(store.position(of: Samples.adapter), before, "the other adapter's position")
            try expectEqual(store.position(of: "others"), receipt.position, "the position of the one that changed")
            try expectEqual(store.position(of: "unknown"), Revision(0), "the position of none")
        },
    ]
}
