import AdapterKit
import Foundation
import GRDB
import RecordStorage
import Synchronization
import Testing

@testable import SQLiteStore

@Suite struct LongReadTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `a statement that takes long is broken off on a connection that its caller's thread uses`() throws {
        let file = StoreFile(path: directory.path, maximumPages: nil)
        _ = try file.openWriter()
        let reader = try file.openReader(quickSteps: 250_000)
        let error = #expect(throws: DatabaseError.self) {
            try reader.unsafeRead { database in
                try Int.fetchOne(
                    database,
                    sql: """
                        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
                        SELECT max(i) FROM n
                        """)
            }
        }
        #expect(error?.resultCode == .SQLITE_INTERRUPT)
    }

    @Test func `a short read stays short however often its statement ran before`() async throws {
        var settings = SQLiteStoreSettings(path: directory.path, readers: 1, clock: FixedClock())
        settings.quickSteps = 500
        let store = try SQLiteStore(settings)
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        _ = try await records.apply([RecordChange("things", .create(nil, ["name": "one"]))])
        for _ in 0..<1000 {
            #expect(try await records.query(Query(countsAll: true), in: "things").total == 1)
        }
        await store.close()
    }

    @Test func `a search that takes long is answered all the same`() async throws {
        let store = try directory.store()
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        _ = try await records.apply(
            (0..<4000).map { RecordChange("things", .create(nil, ["name": .string("name \($0)")])) })
        // Every row is looked at a hundred times, which is far beyond what is done on the caller's thread.
        let filter = Filter.any((0..<100).map { .containsText("name", "no \($0)") } + [.hasSuffix("name", " 77")])
        #expect(try await records.count(filter, in: "things") == 1)
        #expect(try await records.query(Query(filter, countsAll: true), in: "things").total == 1)
        await store.close()
    }

    @Test func `what was long once goes where long reads go, and is tried again now and then`() async throws {
        var settings = SQLiteStoreSettings(path: directory.path, readers: 1, clock: FixedClock())
        settings.quickSteps = 500
        let store = try SQLiteStore(settings)
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        _ = try await records.apply(
            (0..<200).map { RecordChange("things", .create(nil, ["name": .string("name \($0)")])) })
        let everything = Relation(.records("things", as: 1), columns: [.field(1, "name")])
        var few = everything
        few.limit = 1
        // Rows of a vain attempt are among them.
        func rows(_ relation: Relation) async throws -> Int {
            let seen = Seen()
            _ = try await records.withReadSnapshot { snapshot in
                try snapshot.rows(relation) { _ in seen.rows.add(1, ordering: .relaxed) }
            }
            return seen.rows.load(ordering: .relaxed)
        }
        #expect(try await rows(everything) > 200)
        for _ in 0..<LongReadEstimate.uses { #expect(try await rows(everything) == 200) }
        #expect(try await rows(everything) > 200)
        #expect(try await rows(few) == 1)
        await store.close()
    }

    /// Hours: an index on one name leaves three tables to go through.
    private static let endless = Relation(
        .records("things", as: 1),
        joins: [
            Join(.inner, .records("things", as: 2), on: .value(true)),
            Join(.inner, .records("things", as: 3), on: .value(true)),
            Join(.inner, .records("things", as: 4), on: .value(true)),
        ],
        where: .compare(
            .equal, .field(1, "name"), .call(.concatenate, [.field(2, "name"), .field(3, "name"), .field(4, "name")])),
        columns: [.field(1, "name")])

    private func filled(_ store: SQLiteStore, _ count: Int) async throws -> AdapterRecords {
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        _ = try await records.apply(
            (0..<count).map { RecordChange("things", .create(nil, ["name": .string("name \($0)")])) })
        return records
    }

    @Test func `a cancelled read ends within its statement and leaves its place`() async throws {
        let store = try directory.store()
        let records = try await filled(store, 2_000)
        let reads = (0..<4).map { _ in
            Task { try await records.withReadSnapshot { try $0.rows(Self.endless) { _ in } } }
        }
        try await Task.sleep(for: .milliseconds(300))
        for read in reads { read.cancel() }
        for read in reads { await #expect(throws: CancellationError.self) { try await read.value } }
        let filter = Filter.any((0..<100).map { .containsText("name", "no \($0)") } + [.hasSuffix("name", " 77")])
        #expect(try await records.count(filter, in: "things") > 0)
        await store.close()
    }

    @Test func `a cancelled read ends between two of its statements`() async throws {
        let store = try directory.store()
        let records = try await filled(store, 10)
        let read = Task {
            try await records.withReadSnapshot { snapshot in
                while true { _ = try snapshot.count(nil, in: "things") }
            }
        }
        try await Task.sleep(for: .milliseconds(100))
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        await store.close()
    }

    @Test func `a read whose turn is over ends for a caller that has none`() async throws {
        var settings = SQLiteStoreSettings(
            path: directory.path, longReads: 2, longReadTurn: .milliseconds(100), clock: FixedClock())
        settings.quickSteps = 500
        let store = try SQLiteStore(settings)
        let records = try await filled(store, 2_000)
        let reads = ["alice", "bob"].map { name in
            Task {
                try await CallerIdentity.$current.withValue(.account(name)) {
                    try await records.withReadSnapshot { try $0.rows(Self.endless) { _ in } }
                }
            }
        }
        try await Task.sleep(for: .milliseconds(500))
        let filter = Filter.any((0..<100).map { .containsText("name", "no \($0)") } + [.hasSuffix("name", " 77")])
        let found = try await CallerIdentity.$current.withValue(.account("carol")) {
            try await records.count(filter, in: "things")
        }
        #expect(found > 0)
        var ended = 0
        for read in reads {
            read.cancel()
            do { try await read.value } catch let error as PorticoError {
                #expect(error.code == .overloaded)
                ended += 1
            } catch is CancellationError {}
        }
        #expect(ended == 1)
        await store.close()
    }

    @Test func `as many long reads as are allowed go on at once`() async throws {
        var settings = SQLiteStoreSettings(path: directory.path, readers: 1, longReads: 2, clock: FixedClock())
        settings.quickSteps = 500
        let store = try SQLiteStore(settings)
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        _ = try await records.apply(
            (0..<200).map { RecordChange("things", .create(nil, ["name": .string("name \($0)")])) })
        let everything = Relation(.records("things", as: 1), columns: [.field(1, "name")])
        let meeting = Meeting()
        // Each waits at its last row until the other is there.
        @Sendable func read() async throws -> Int {
            try await records.withReadSnapshot { snapshot in
                var rows = 0
                try snapshot.rows(everything) { _ in
                    rows += 1
                    if rows == 200 { meeting.arrive() }
                }
                return rows
            }
        }
        async let first = CallerIdentity.$current.withValue(.account("alice")) { try await read() }
        async let second = CallerIdentity.$current.withValue(.account("bob")) { try await read() }
        #expect(try await [first, second] == [200, 200])
        #expect(meeting.isComplete)
        await store.close()
    }
}

/// A meeting of two, each of whom waits for the other.
private final class Meeting: Sendable {
    private let present = Atomic(0)
    private let seconds = 300

    var isComplete: Bool { present.load(ordering: .sequentiallyConsistent) == 2 }

    func arrive() {
        present.add(1, ordering: .sequentiallyConsistent)
        let end = ContinuousClock.now + .seconds(seconds)
        while !isComplete, ContinuousClock.now < end { usleep(1_000) }
    }
}

private final class Seen: Sendable {
    let rows = Atomic(0)
}
