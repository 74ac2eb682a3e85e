import AdapterKit
import RecordStorage

extension StoreConformance {
    static let readCases = [
        ConformanceCase("reads that were declared find what reads find that were not") { store in
            let run = try await DeclaredReads(store: store)
            let plain = try await run.transaction(expecting: [], prefetching: [])
            for reads in [run.all, run.some] {
                try expectEqual(
                    try await run.transaction(expecting: reads, prefetching: []), plain, "declared beforehand")
                try expectEqual(
                    try await run.transaction(expecting: [], prefetching: reads), plain, "declared within")
            }
            let snapshot = try await run.snapshot(expecting: [], prefetching: [])
            try expectEqual(try await run.snapshot(expecting: run.all, prefetching: []), snapshot, "in a snapshot")
            try expectEqual(try await run.snapshot(expecting: [], prefetching: run.all), snapshot, "within a snapshot")
        },
        ConformanceCase("the history of a record after a position is all of it, newest first") { store in
            let first = try await store.own.create(["id": "x", "name": "a"], in: "items")
            var revisions = [first.revision]
            for rank in 0..<40 {
                try await store.own.create(["name": "b"], in: "items")
                revisions.append(try await store.own.update("x", ["rank": .int64(Int64(rank))], in: "items").revision)
            }
            for start in [Revision(0), revisions[0], revisions[2], revisions[38], revisions[40]] {
                let found = try await store.withReadSnapshot {
                    try $0.history(of: "x", in: Samples.itemsID, after: start)
                }
                try expectEqual(
                    found.map(\.position), revisions.filter { $0 > start }.reversed(), "the entries after \(start)")
            }
            let none = try await store.withReadSnapshot {
                try $0.history(of: "unknown", in: Samples.itemsID, after: Revision(0))
            }
            try expectEqual(none, [], "the entries of a record that never was")
        },
    ]
}

/// One series of reads before and after changes, with declarations and without.
private struct DeclaredReads: Sendable {
    let store: any Store
    private let position: Revision

    init(store: any Store) async throws {
        self.store = store
        try await store.own.create(["id": "g", "members": ["ann"]], in: "groups")
        for id in ["x", "w", "gone"] {
            try await store.own.create(["id": .string(id), "name": "a", "group": "g"], in: "items")
        }
        try await store.own.create(["id": "p", "group": "g"], in: "posts")
        try await store.own.create(["post": "p"], in: "marks")
        position = try await store.own.update("x", ["rank": 1], in: "items").revision
        try await store.own.delete("gone", in: "items")
        try await store.transact(weight: 1) { try $0.remember(["n": 1], of: 1, from: "c", of: "id-ann") }
    }

    private static let posts = CollectionID(Samples.adapter, "posts")
    private static let named = Filter.compare("name", .equal, "a")
    private static let inGroup = Filter.related("group", "groups", .listContains("members", "ann"))
    private static let query = Query(named, order: [SortKey("id")], limit: 10)

    /// Those that are made, and some that are not.
    var all: [StoreRead] {
        let records = ["x", "w", "gone", "new", "unread"].map {
            StoreRead.record(RecordID(unchecked: $0), in: Samples.itemsID)
        }
        return records + [
            .removal("p", in: Self.posts), .latestHistory("gone", in: Samples.itemsID, limit: 1),
            .history("x", in: Samples.itemsID, after: Revision(0)), .client("c"), .client("d"),
            .outcome(1, from: "c"), .outcome(2, from: "c"), .changes(after: position, limit: 10), .replacements,
            .mirrorState(Samples.itemsID), .query(Self.query, in: Samples.itemsID),
            .count(Self.named, in: Samples.itemsID),
        ]
    }

    /// Less than what is made, and some of it twice.
    var some: [StoreRead] {
        all.enumerated().filter { $0.offset.isMultiple(of: 3) }.flatMap { [$0.element, $0.element] }
    }

    private struct Undoing: Error {
        let found: [String]
    }

    /// Undone, so that each begins with the same records.
    func transaction(expecting reads: [StoreRead], prefetching more: [StoreRead]) async throws -> [String] {
        do {
            return try await store.transact(weight: 9, expecting: reads) { [self] transaction in
                try transaction.prefetch(more)
                var found = try self.found(in: transaction)
                try change(transaction)
                found += try self.found(in: transaction)
                do {
                    try transaction.undoing {
                        _ = try transaction.apply(changing(.delete("x")))
                        found += try self.found(in: transaction)
                        throw Undoing(found: [])
                    }
                } catch is Undoing {}
                found += try self.found(in: transaction)
                throw Undoing(found: found)
            }
        } catch let end as Undoing {
            return end.found
        }
    }

    func snapshot(expecting reads: [StoreRead], prefetching more: [StoreRead]) async throws -> [String] {
        try await store.withReadSnapshot(expecting: reads) { [self] snapshot in
            try snapshot.prefetch(more)
            return try found(in: snapshot)
        }
    }

    private func change(_ transaction: any StoreTransaction) throws {
        _ = try transaction.apply(changing(.update("x", ["name": "b"])))
        _ = try transaction.apply(changing(.delete("w")))
        _ = try transaction.apply(changing(.create("new", ["name": "a", "group": "g"])))
        _ = try transaction.apply(
            WriteTransaction(
                [WriteTransaction.Step(adapter: Samples.adapter, change: RecordChange("posts", .delete("p")))],
                author: "system"))
        try transaction.remember(["n": 2], of: 2, from: "c", of: "id-ann")
    }

    private func changing(_ action: RecordChange.Action) -> WriteTransaction {
        WriteTransaction(
            [WriteTransaction.Step(adapter: Samples.adapter, change: RecordChange("items", action))], author: "system")
    }

    private func found(in snapshot: any StoreSnapshot) throws -> [String] {
        var found = ["position \(snapshot.position)"]
        for id: RecordID in ["x", "w", "gone", "new"] {
            for visible in [nil, Self.named, Self.inGroup] {
                let record = try snapshot.record(id, in: Samples.itemsID, visible: visible)
                found.append("\(id): \(record.map { "\($0.revision) \($0["name"]) \($0["rank"])" } ?? "none")")
            }
            for limit in [1, 3] {
                let entries = try snapshot.history(of: id, in: Samples.itemsID, limit: limit)
                found.append("history of \(id): \(entries.map { "\($0.position) \($0.kind)" })")
            }
            for start in [Revision(0), position] {
                let entries = try snapshot.history(of: id, in: Samples.itemsID, after: start)
                found.append("history of \(id) after \(start): \(entries.map { "\($0.position) \($0.kind)" })")
            }
        }
        let client = try snapshot.client("c")
        found.append("client \(client?.lastSequence ?? 0), \(try snapshot.client("d") == nil)")
        for sequence: Int64 in [1, 2] {
            found.append("outcome \(String(describing: try snapshot.outcome(of: sequence, from: "c")?.content))")
        }
        found.append("changes \(try snapshot.changes(after: position, limit: 10).map { "\($0.position) \($0.id)" })")
        found.append("replacements \(try snapshot.replacements().count)")
        found.append("mirror \(try snapshot.mirrorState(of: Samples.itemsID) == nil)")
        found.append("page \(try snapshot.query(Self.query, in: Samples.itemsID).records.map(\.id))")
        found.append("count \(try snapshot.count(Self.named, in: Samples.itemsID))")
        found.append("posts \(try snapshot.count(nil, in: Self.posts))")
        found.append("marks \(try snapshot.count(nil, in: CollectionID(Samples.adapter, "marks")))")
        return found
    }
}
