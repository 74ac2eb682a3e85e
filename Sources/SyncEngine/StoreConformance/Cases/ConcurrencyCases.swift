import AdapterKit
import RecordStorage

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
        ConformanceCase("whoever knows a position can read what it contains") { store in
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
