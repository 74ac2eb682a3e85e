import AdapterKit
import RecordStorage

extension StoreConformance {
    static let snapshotCases = [
        ConformanceCase("a snapshot is consistent while other callers write") { store in
            try await withThrowingTaskGroup { group in
                group.addTask { for _ in 0..<100 { try await store.own.create(["name": "a"], in: "items") } }
                group.addTask {
                    for _ in 0..<100 { try await checkMoment(of: store) }
                }
                try await group.waitForAll()
            }
        },
        ConformanceCase("what is read while it is taken is of one state") { store in
            for rank in 0..<20 { try await store.own.create(["name": "a", "rank": .int64(Int64(rank))], in: "items") }
            let whole = try await store.own.streamSnapshot(within: .seconds(60)) { snapshot, output in
                for _ in 0..<3 { try output.send([UInt8(try snapshot.count(nil, in: "items"))]) }
            }
            var found: [UInt8] = []
            while let piece = try await whole.next() {
                found += piece
                try await store.own.create(["name": "b"], in: "items")
            }
            try expectEqual(found, [20, 20, 20], "the counts")
        },
        ConformanceCase("a transaction sees what it did, and what it decides on stays true") { store in
            try await store.own.create(["id": "x", "name": "a", "rank": 0], in: "items")
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { for _ in 0..<5 { try await increment("x", in: store) } }
                }
                try await group.waitForAll()
            }
            try expectEqual(try await store.own.record("x", in: "items")?["rank"], 40, "counted up together")
        },
        ConformanceCase("a transaction that throws has done nothing") { store in
            let position = try await store.exactPosition()
            try await expectError(.overloaded, "the body's error") {
                try await store.transact(weight: 2) { transaction in
                    _ = try transaction.apply(creating("x"))
                    try transaction.remember(["a": 1], of: 1, from: "c", of: "ann")
                    try transaction.keep(losing("x", 1))
                    throw PorticoError(.overloaded, "no")
                }
            }
            try expectEqual(try await store.exactPosition(), position, "the position")
            try expectEqual(try await store.own.count(nil, in: "items"), 0, "records")
            try await store.withReadSnapshot { snapshot in
                try expectEqual(try snapshot.client("c"), nil, "the client")
                try expectEqual(try snapshot.keptCopies(.all, before: nil, limit: 10), [], "kept copies")
                try expectEqual(try snapshot.changes(after: Revision(0), limit: 10), [], "the log")
            }
        },
        ConformanceCase("a refused change takes nothing of the transaction around it") { store in
            let receipt = try await store.transact(weight: 3) { transaction in
                _ = try transaction.apply(creating("x"))
                let refused = WriteTransaction(creating("y").steps + creating("x").steps, author: "system")
                do {
                    _ = try transaction.apply(refused)
                } catch let error as PorticoError {
                    try expectEqual(error.code, .recordExists, "the refusal")
                }
                try expectEqual(try transaction.record("y", in: Samples.itemsID, visible: nil), nil, "what was undone")
                let receipt = try transaction.apply(creating("z"))
                try expectEqual(transaction.position, receipt.position, "the position within")
                return receipt
            }
            try expectEqual(try await store.exactPosition(), receipt.position, "the position")
            try expect(store.position(of: Samples.adapter) <= receipt.position, "the adapter's position")
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log.map(\.id), ["x", "z"], "the log")
        },
        ConformanceCase("what is undone within a transaction leaves nothing, not even inside another undoing") {
            store in
            try await store.transact(weight: 4) { transaction in
                _ = try transaction.apply(creating("x"))
                try transaction.undoing {
                    _ = try transaction.apply(creating("y"))
                    try? transaction.undoing {
                        _ = try transaction.apply(creating("z"))
                        try transaction.remember(["a": 1], of: 1, from: "c", of: "ann")
                        throw PorticoError(.overloaded, "no")
                    }
                }
                try expectEqual(try transaction.client("c"), nil, "the client")
                try expectEqual(try transaction.record("z", in: Samples.itemsID, visible: nil), nil, "what was undone")
            }
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log.map(\.id), ["x", "y"], "the log")
        },
    ]

    private static func checkMoment(of store: any Store) async throws {
        try await store.withReadSnapshot { snapshot in
            let position = snapshot.position
            let log = try snapshot.changes(after: Revision(0), limit: 10_000)
            try expectEqual(log.last?.position ?? Revision(0), position, "the log's end")
            try expectEqual(try snapshot.count(nil, in: Samples.itemsID), log.count, "records and log entries")
            let page = try snapshot.query(Query(order: [SortKey("created")], limit: 1000), in: Samples.itemsID)
            try expectEqual(page.records.map(\.revision).max() ?? Revision(0), position, "the newest record")
        }
    }

    static func increment(_ id: RecordID, in store: any Store) async throws {
        try await store.transact(weight: 1) { transaction in
            let record = try transaction.record(id, in: Samples.itemsID, visible: nil)
            let rank = (record?["rank"].int64Value ?? 0) + 1
            let change = RecordChange("items", .update(id, ["rank": .int64(rank)]))
            let step = WriteTransaction.Step(adapter: Samples.adapter, change: change)
            _ = try transaction.apply(WriteTransaction([step], author: "system"))
        }
    }

    static func creating(_ id: RecordID) -> WriteTransaction {
        let change = RecordChange("items", .create(id, ["name": "a"]))
        return WriteTransaction([WriteTransaction.Step(adapter: Samples.adapter, change: change)], author: "system")
    }

    static func losing(
        _ id: RecordID, _ sequence: Int64, by author: String = "ann", text: String = "lost"
    ) -> LosingCopy {
        LosingCopy(
            collection: Samples.itemsID, id: id, reason: .conflict, author: author, client: "c", sequence: sequence,
            content: ["name": .string(text), "n": .int64(sequence)])
    }
}

extension StoreConformance {
    static let concurrencyCases = [
        ConformanceCase("what many tasks write at once is in the log exactly once, in order") { store in
            let receipts = try await withThrowingTaskGroup { group in
                for task in 0..<16 {
                    group.addTask { try await writeMany(as: task, to: store) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let log = try await store.changes(after: Revision(0), limit: 10_000)
            try expectEqual(Set(receipts), Set(log.map(\.position)), "acknowledged positions")
            try expectEqual(log.count, receipts.count, "log entries")
            try expect(zip(log, log.dropFirst()).allSatisfy { $0.position < $1.position }, "the log is in order")
            try expectEqual(try await store.own.count(nil, in: "items"), receipts.count, "records")
        },
        ConformanceCase("of changes at one revision, one is made") { store in
            let record = try await store.own.create(["id": "x", "name": "a", "rank": 0], in: "items")
            let made = try await withThrowingTaskGroup { group in
                for task in 0..<16 {
                    group.addTask {
                        do {
                            try await store.own.update(
                                "x", ["rank": .int64(Int64(task))], in: "items", if: .revision(record.revision))
                            return 1
                        } catch let error as PorticoError where error.code == .preconditionFailed {
                            return 0
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            try expectEqual(made, 1, "changes made")
        },
        ConformanceCase("a caller that knows a position can read what it contains") { store in
            try await withThrowingTaskGroup { group in
                group.addTask { _ = try await writeMany(as: 0, to: store) }
                group.addTask {
                    for _ in 0..<200 {
                        let position = store.position
                        let log = try await store.changes(after: Revision(0), limit: 10_000)
                        try expect(
                            (log.last?.position ?? Revision(0)) >= position, "the log holds position \(position)")
                        try expectEqual(log.count, Int(log.last?.position.number ?? 0), "the log has no gap")
                    }
                }
                try await group.waitForAll()
            }
        },
        ConformanceCase("a closed store refuses, and keeps what it acknowledged") { store in
            try await store.own.create(["name": "a"], in: "items")
            await store.close()
            try await expectError(.storeUnavailable, "a write") {
                try await store.own.create(["name": "a"], in: "items")
            }
            try await expectError(.storeUnavailable, "a read") { _ = try await store.own.count(nil, in: "items") }
        },
    ]

    private static func writeMany(as task: Int, to store: any Store) async throws -> [Revision] {
        var positions: [Revision] = []
        for number in 0..<20 {
            let record = try await store.own.create(["id": .string("t\(task)-\(number)"), "name": "a"], in: "items")
            positions.append(record.revision)
        }
        return positions
    }
}
