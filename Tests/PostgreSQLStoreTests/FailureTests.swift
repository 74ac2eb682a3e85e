import AdapterKit
import Foundation
import PostgreSQLStore
import RecordStorage
import Synchronization
import Testing

/// Notes, of which callers choose the keys.
private enum Notes {
    static let collection = CollectionID("notes", "notes")
    static let declaration = CollectionDeclaration(
        adapter: "notes",
        entity: Entity(
            "notes", summary: "Notes.", key: EntityKey("id", chosenBy: .caller),
            fields: [Field("id", .string(maximumLength: 64), isRequired: true), Field("text", .string)]))

    static func step(_ action: RecordChange.Action) -> WriteTransaction.Step {
        WriteTransaction.Step(adapter: "notes", change: RecordChange("notes", action))
    }

    static func creation(_ ids: [RecordID]) -> WriteTransaction {
        WriteTransaction(ids.map { step(.create($0, ["text": "t"])) }, author: "ann")
    }

    static func ids(_ count: Int) -> [RecordID] { (0..<count).map { RecordID(unchecked: "n\($0)") } }
}

@Suite(.enabled(if: DatabaseServer.programs != nil, "PostgreSQL is not installed"))
struct RoundTripTests {
    @Test(arguments: [1, 100, 1_000])
    func `a group of commits costs two round trips whatever its size`(size: Int) async throws {
        let server = try #require(DatabaseServer.shared)
        let proxy = try RoundTripProxy(to: server.port)
        let store = try await PostgreSQLStore.open(server.settings(port: proxy.port))
        try await store.install([Notes.declaration])
        _ = try await store.write(Notes.creation(["first"]))
        try proxy.count()
        let ids = Notes.ids(size)
        let reads = ids.map { StoreRead.record($0, in: Notes.collection) }
        try await store.transact(weight: size, expecting: reads + [.client("c"), .outcome(1, from: "c")]) {
            transaction in
            #expect(try transaction.outcome(of: 1, from: "c") == nil)
            _ = try transaction.apply(Notes.creation(ids))
            try transaction.remember(["a": 1], of: 1, from: "c", of: "ann")
        }
        #expect(try proxy.count().roundTrips == 2)
        #expect(store.undeclaredReads == 0)
        #expect(try await store.count(nil, in: Notes.collection) == size + 1)
        await store.close()
    }

    @Test func `pages of records and of changes cost two and three round trips`() async throws {
        let server = try #require(DatabaseServer.shared)
        let proxy = try RoundTripProxy(to: server.port)
        let store = try await PostgreSQLStore.open(server.settings(port: proxy.port, connections: 2))
        try await store.install([Notes.declaration])
        let ids = Notes.ids(500)
        _ = try await store.write(Notes.creation(ids))
        _ = try await store.count(nil, in: Notes.collection)
        try proxy.count()
        // The end of a snapshot is not waited for, so the one before the first may be among them.
        for _ in 0..<10 {
            let page = try await store.query(Query(limit: 500), in: Notes.collection)
            #expect(page.records.count == 500)
        }
        #expect(try proxy.count().roundTrips <= 21)
        for _ in 0..<10 { #expect(try await pull(from: store) == 500) }
        #expect(try proxy.count().roundTrips <= 31)
        await store.close()
    }

    /// Reads as a pull does, and gives the number of changes that have their record and their history.
    private func pull(from store: PostgreSQLStore) async throws -> Int {
        try await store.withReadSnapshot(expecting: [.changes(after: Revision(0), limit: 500)]) { snapshot in
            let entries = try snapshot.changes(after: Revision(0), limit: 500)
            try snapshot.prefetch(
                entries.flatMap { entry -> [StoreRead] in
                    [
                        .record(entry.id, in: entry.collection),
                        .history(entry.id, in: entry.collection, after: Revision(0)),
                    ]
                })
            return try entries.count { entry in
                let record = try snapshot.record(entry.id, in: entry.collection, visible: nil)
                let history = try snapshot.history(of: entry.id, in: entry.collection, after: Revision(0))
                return record?.revision == entry.position && history == [entry]
            }
        }
    }
}

@Suite(.enabled(if: DatabaseServer.programs != nil, "PostgreSQL is not installed"))
struct FailureTests {
    @Test func `a commit whose answer is lost is settled, and made once`() async throws {
        let server = try #require(DatabaseServer.shared)
        let proxy = try RoundTripProxy(to: server.port)
        let settings = server.settings(port: proxy.port)
        let store = try await PostgreSQLStore.open(settings)
        try await store.install([Notes.declaration])
        async let receipt = store.transact(weight: 1) { transaction in
            let receipt = try transaction.apply(Notes.creation(["x"]))
            if try transaction.client("c") == nil {
                // Only the first time: the answer to COMMIT does not come.
                try proxy.hold()
            }
            try transaction.remember(["a": 1], of: 1, from: "c", of: "ann")
            return receipt
        }
        let committed = "SELECT count(*) FROM \(settings.schema).portico_outcome"
        try await waitUntil { try server.run(committed).hasPrefix("1") }
        try proxy.cut()
        try proxy.release()
        #expect(try await receipt.position == Revision(1))
        #expect(try await store.changes(after: Revision(0), limit: 10).count == 1)
        await store.close()
    }

    @Test func `a group whose connection is cut before its commit is made again, once`() async throws {
        let server = try #require(DatabaseServer.shared)
        let proxy = try RoundTripProxy(to: server.port)
        let store = try await PostgreSQLStore.open(server.settings(port: proxy.port))
        try await store.install([Notes.declaration])
        let runs = Runs()
        let receipt = try await store.transact(weight: 1) { transaction in
            let receipt = try transaction.apply(Notes.creation(["x"]))
            if runs.next() == 1 { try proxy.cut() }
            return receipt
        }
        #expect(receipt.position == Revision(1))
        #expect(runs.count == 2)
        #expect(try await store.changes(after: Revision(0), limit: 10).count == 1)
        await store.close()
    }

    @Test func `reads and writes go on after the server ended all connections`() async throws {
        let server = try DatabaseServer(try #require(DatabaseServer.programs))
        let store = try await PostgreSQLStore.open(server.settings())
        try await store.install([Notes.declaration])
        for number in 0..<5 {
            _ = try await store.write(Notes.creation([RecordID(unchecked: "n\(number)")]))
            try server.endConnections()
            #expect(try await store.count(nil, in: Notes.collection) == number + 1)
        }
        await store.close()
        server.stop()
    }

    @Test func `a database that lost commits is refused`() async throws {
        let server = try DatabaseServer(try #require(DatabaseServer.programs))
        let settings = server.settings()
        let store = try await PostgreSQLStore.open(settings)
        try await store.install([Notes.declaration])
        _ = try await store.write(Notes.creation(["x"]))
        try server.run("UPDATE \(settings.schema).portico_commit SET token = 'other'")
        try server.endConnections()
        await #expect(throws: PorticoError.self) { _ = try await store.count(nil, in: Notes.collection) }
        await #expect(throws: PorticoError.self) { _ = try await store.write(Notes.creation(["y"])) }
        #expect(try server.run("SELECT count(*) FROM \(settings.schema).portico_log").hasPrefix("1"))
        await store.close()
        server.stop()
    }

    @Test func `two stores of one schema write one log, and each knows the other's version when it asks`() async throws
    {
        let server = try #require(DatabaseServer.shared)
        let settings = server.settings()
        let stores = [try await PostgreSQLStore.open(settings), try await PostgreSQLStore.open(settings)]
        for store in stores { try await store.install([Notes.declaration]) }
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<10 {
                        let id = RecordID(unchecked: "n\(task)-\(number)")
                        let receipt = try await stores[task % 2].write(Notes.creation([id]))
                        let version = try await stores[1 - task % 2].currentVersion(of: "notes")
                        let other = stores[1 - task % 2].position(of: "notes")
                        #expect(other >= receipt.position, "the version \(version) is older")
                    }
                }
            }
            try await group.waitForAll()
        }
        let log = try await stores[0].changes(after: Revision(0), limit: 1_000)
        #expect(log.map(\.position.number) == Array(1...80))
        for store in stores { await store.close() }
    }

    private func waitUntil(_ holds: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(180)
        while ContinuousClock.now < end {
            if try holds() { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("it never held")
    }
}

/// Counts how often something ran.
private final class Runs: Sendable {
    private let value = Atomic<Int>(0)
    var count: Int { value.load(ordering: .relaxed) }
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
}

@Suite(.enabled(if: DatabaseServer.programs != nil, "PostgreSQL is not installed"))
struct RefusalTests {
    /// Opens, and gives what is refused.
    private func refusal(_ settings: PostgreSQLStoreSettings) async -> String {
        do {
            await (try PostgreSQLStore.open(settings)).close()
            return "nothing"
        } catch {
            return "\(error)"
        }
    }

    @Test func `servers that lose data or cannot hold every text are refused`() async throws {
        let programs = try #require(DatabaseServer.programs)
        for (options, encoding, reason) in [
            (["fsync=off"], "UTF8", "`fsync` is off"), (["full_page_writes=off"], "UTF8", "`full_page_writes` is off"),
            ([], "LATIN1", "encoding is LATIN1"),
        ] {
            let server = try DatabaseServer(programs, options: options, encoding: encoding)
            #expect(await refusal(server.settings()).contains(reason))
            server.stop()
        }
    }

    @Test func `schemas of others, of later versions and without rights are refused`() async throws {
        let server = try #require(DatabaseServer.shared)
        try server.run("CREATE SCHEMA other; CREATE TABLE other.things (id int)")
        #expect(await refusal(server.settings(schema: "other")).contains("belongs to another program"))
        let settings = server.settings()
        #expect(await refusal(settings) == "nothing")
        try server.run("UPDATE \(settings.schema).portico_meta SET value = '2' WHERE name = 'version'")
        #expect(await refusal(settings).contains("later version"))
        try server.run("CREATE ROLE weak LOGIN; CREATE SCHEMA closed")
        var weak = server.settings(schema: "closed")
        weak.url = "postgresql://weak@127.0.0.1:\(server.port)/postgres"
        #expect(await refusal(weak).contains("may not"))
        weak.schema = "missing"
        #expect(await refusal(weak).contains("CREATE SCHEMA missing"))
        weak.schema = settings.schema
        #expect(await refusal(weak).contains("grant it"))
    }

    @Test func `an address with a password is refused`() async throws {
        let server = try #require(DatabaseServer.shared)
        var settings = server.settings()
        settings.url = "postgresql://portico:secret@127.0.0.1:\(server.port)/postgres"
        #expect(await refusal(settings).contains("`store.password`"))
        settings.url = "postgresql://portico@127.0.0.1:\(server.port)/postgres?password=secret"
        #expect(await refusal(settings).contains("no password"))
    }

    @Test func `a server that is not there is unavailable`() async throws {
        let server = try #require(DatabaseServer.shared)
        let settings = server.settings(port: try DatabaseServer.freePort())
        #expect(await refusal(settings).contains("store.unavailable"))
    }
}
