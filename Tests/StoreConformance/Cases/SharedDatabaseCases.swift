import AdapterKit
import RecordStorage
import Synchronization

/// One promise of two stores over one database, as two processes have them.
public struct SharedDatabaseCase: Sendable, CustomStringConvertible {
    /// A sentence.
    public let description: String
    private let body: @Sendable (any Store, any Store) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (any Store, any Store) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Runs it on the two stores that `open` gives, whose database must be empty; installs the collections it needs by both,
    /// closes both.
    public func run(_ open: @Sendable () async throws -> (any Store, any Store)) async throws {
        let (one, other) = try await open()
        var failure: (any Error)?
        do {
            try await one.install(Samples.collections)
            try await other.install(Samples.collections)
            try await body(one, other)
        } catch {
            failure = error
        }
        await one.close()
        await other.close()
        if let failure { throw failure }
    }
}

extension StoreConformance {
    /// For stores of which several may have one database.
    public static let sharedDatabaseCases = [
        SharedDatabaseCase("what one store acknowledged, the other reads, under the same revision") { one, other in
            try expectEqual(one.epoch, other.epoch, "the epoch")
            let written = try await one.own.create(["id": "x", "name": "a"], in: "items")
            try expectEqual(try await other.own.record("x", in: "items"), written, "the record")
            let changed = try await other.own.update("x", ["rank": 1], in: "items")
            try expect(changed.revision > written.revision, "the revision grows")
            try expectEqual(try await one.own.record("x", in: "items"), changed, "the record again")
        },
        SharedDatabaseCase("no reader of either skips an operation of either") { one, other in
            try await withThrowingTaskGroup { group in
                for store in [one, other] {
                    for name in ["a", "b"] {
                        group.addTask {
                            for _ in 0..<30 { try await store.own.create(["name": .string(name)], in: "items") }
                        }
                    }
                    group.addTask { try await readLog(of: store, upTo: 120) }
                }
                try await group.waitForAll()
            }
        },
        SharedDatabaseCase("what a transaction of one decides on stays true while the other writes") { one, other in
            try await one.own.create(["id": "x", "name": "a", "rank": 0], in: "items")
            try await withThrowingTaskGroup { group in
                for store in [one, other, one, other] {
                    group.addTask { for _ in 0..<20 { try await StoreConformance.increment("x", in: store) } }
                }
                try await group.waitForAll()
            }
            try expectEqual(try await one.own.record("x", in: "items")?["rank"], 80, "counted up together")
        },
        SharedDatabaseCase("a position never runs ahead, never goes back, and reaches the other's commits") {
            one, other in
            let seen = SeenPositions()
            other.observe(seen) { seen, position in seen.add(position) }
            var last = Revision(0)
            for number in 0..<20 {
                last = try await (number.isMultiple(of: 3) ? other : one).own.create(["name": "a"], in: "items")
                    .revision
                for store in [one, other] { try await checkPosition(of: store) }
            }
            let reached = last
            try await eventually("the other knows of the last commit") { other.position >= reached }
            try await eventually("the other's observers were called for it") {
                seen.all.last.map { $0 >= reached } ?? false
            }
            try expectEqual(seen.all, seen.all.sorted(), "observed positions rise")
            try await eventually("the adapter's position") { other.position(of: Samples.adapter) >= reached }
        },
        SharedDatabaseCase("a version is exact in the store that did not write") { one, other in
            var versions: [RecordsVersion] = []
            for _ in 0..<10 {
                try await one.own.create(["name": "a"], in: "items")
                let version = try await other.currentVersion(of: Samples.adapter)
                try expect(!versions.contains(version), "a version that was there before a commit")
                let known = other.knownVersion(of: Samples.adapter)
                try expect(known == nil || known == version, "a known version that is not exact: \(known ?? version)")
                versions.append(version)
            }
        },
        SharedDatabaseCase("a push's sequence number is used once, by whichever store") { one, other in
            try await one.transact(weight: 1) { try $0.remember(["a": 1], of: 1, from: "c", of: "id-ann") }
            try await expectError(.recordExists, "the number again") {
                try await other.transact(weight: 1) { try $0.remember(["a": 2], of: 1, from: "c", of: "id-ann") }
            }
            let outcome = try await other.withReadSnapshot { try $0.outcome(of: 1, from: "c") }
            try expectEqual(outcome?.content, ["a": 1], "the outcome")
        },
    ]
}

private final class SeenPositions: Sendable {
    private let positions = Mutex<[Revision]>([])

    var all: [Revision] { positions.withLock { $0 } }

    func add(_ position: Revision) { positions.withLock { $0.append(position) } }
}

/// Reads the log bit by bit until it has `count` entries: each piece goes on right behind the one before.
private func readLog(of store: any Store, upTo count: Int) async throws {
    var read: [LogEntry] = []
    while read.count < count {
        let after = read.last?.position ?? Revision(0)
        let (found, position) = try await store.withReadSnapshot {
            (try $0.changes(after: after, limit: 7), $0.position)
        }
        try expect(found.allSatisfy { $0.position <= position }, "an entry beyond the snapshot's position")
        read += found
        await Task.yield()
    }
    let whole = try await store.changes(after: Revision(0), limit: count + 1)
    try expectEqual(read.map(\.position), whole.map(\.position), "the log in pieces")
}

private func checkPosition(of store: any Store) async throws {
    let (known, own) = (store.position, store.position(of: Samples.adapter))
    let exact = try await store.withReadSnapshot { $0.position }
    try expect(known <= exact, "position \(known) is ahead of \(exact)")
    try expect(own <= exact, "the adapter's position \(own) is ahead of \(exact)")
    try expect(store.position >= known, "the position went back")
}

/// Minutes are for a machine that does something else; a store takes moments.
private func eventually(_ promise: String, _ condition: @Sendable () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        try expect(.now < end, "\(promise): not within two minutes")
        try await Task.sleep(for: .milliseconds(2))
    }
}
