import Foundation
import GRDB
import ReplicaStorage
import Testing
import ValueTree

@testable import Client

/// What SQLite means to do, as `EXPLAIN QUERY PLAN` tells it: a collection may be long, so what the app declared an index
/// for must neither read all of it nor sort it.
@Suite("A declared index")
final class QueryPlanTests {
    private static let index = "field:notes:modified"
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("plans-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// The same file each time.
    private func database() throws -> ReplicaDatabase {
        try ReplicaDatabase(
            path: folder.appendingPathComponent("replica.sqlite").path,
            indexes: ["notes": [["modified"]]])
    }

    private func plan(_ query: RecordQuery, _ database: ReplicaDatabase) throws -> [String] {
        let statement = QueryStatement(query)
        return try database.pool.read { connection in
            try Row.fetchAll(
                connection, sql: "EXPLAIN QUERY PLAN " + statement.sql, arguments: statement.arguments
            ).map { $0["detail"] }
        }
    }

    @Test(
        "gives the rows in their order, in both directions and from any place, and nothing is sorted",
        arguments: [RecordQuery.Order.ascending("modified"), .descending("modified")],
        [[], [.isLess("modified", than: 5)], [.isAtLeast("modified", 5)], [.isWaiting]] as [[RecordQuery.Condition]])
    func ordered(_ order: RecordQuery.Order, _ conditions: [RecordQuery.Condition]) async throws {
        let database = try database()
        let plan = try plan(RecordQuery("notes", where: conditions, order: [order], limit: 50), database)
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH records USING INDEX \(Self.index) "), "\(plan)")
    }

    @Test("is not what a field without one is ordered by: that is sorted")
    func unindexed() async throws {
        let database = try database()
        let plan = try plan(RecordQuery("notes", order: [.descending("title")], limit: 50), database)
        #expect(plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }

    @Test("that an older file has in another form is made anew, and one that is as it should be stays")
    func renewed() async throws {
        let wanted = try definition(try database())
        let old = "CREATE INDEX \"\(Self.index)\" ON records (id) WHERE collection = 'notes'"
        try await database().pool.write { connection in
            try connection.execute(sql: "DROP INDEX \"\(Self.index)\"; \(old)")
        }
        #expect(try definition(try database()) == wanted)
        try await database().pool.write { connection in
            // Another one after every index that was made or dropped.
            func version() throws -> Int? { try Int.fetchOne(connection, sql: "PRAGMA schema_version") }
            let before = try version()
            try DeclaredIndexes(["notes": [["modified"]]]).install(connection)
            #expect(try version() == before)
        }
    }

    private func definition(_ database: ReplicaDatabase) throws -> String? {
        let sql = "SELECT sql FROM sqlite_master WHERE name = ?"
        return try database.pool.read { try String.fetchOne($0, sql: sql, arguments: [Self.index]) }
    }

    @Test("changes no answer: equal ones are in the order of their ids, the way of the last field")
    func ties() async throws {
        let alice = try await Device("alice", at: try await MemoryGateway())
        for (id, modified) in [("b", 1), ("a", 1), ("d", 2), ("c", 2)] {
            try await alice.replica.create(in: "notes", ["modified": .int64(Int64(modified))], id: id)
        }
        for indexes: [String: [FieldIndex]] in [[:], ["notes": ["modified"]]] {
            alice.settings.indexes = indexes
            try await alice.reopen()
            func ids(_ order: RecordQuery.Order...) async throws -> String {
                try await alice.replica.records(RecordQuery("notes", order: order)).map(\.id).joined()
            }
            #expect(try await ids() == "abcd")
            #expect(try await ids(.ascending("modified")) == "abcd")
            #expect(try await ids(.descending("modified")) == "dcba")
            #expect(try await ids(.descending("modified"), .ascending("title")) == "cdab")
        }
    }
}

extension QueryPlanTests {
    @Test(
        "answers what it was declared for: equality, beginnings, and a range within an equality",
        arguments: [
            [.equals("modified", 5)], [.equals("modified", 5), .isWaiting], [.isNull("modified")],
            [.startsWith("modified", "a")],
        ] as [[RecordQuery.Condition]])
    func narrowed(_ conditions: [RecordQuery.Condition]) throws {
        let plan = try plan(RecordQuery("notes", where: conditions), database())
        #expect(plan[0].hasPrefix("SEARCH records USING INDEX \(Self.index) (collection=? AND <expr>"), "\(plan)")
    }

    @Test("over several fields gives a page of one room's messages, and those that wait, without sorting")
    func several() throws {
        let path = folder.appendingPathComponent("replica.sqlite").path
        let database = try ReplicaDatabase(path: path, indexes: ChatRecords.indexes.mapValues(\.fields))
        for query in [
            ChatRecords.posted(in: "r", before: 9, limit: 50), ChatRecords.unposted(in: "r"),
        ] {
            let plan = try plan(query, database)
            #expect(
                plan.count == 1 && plan[0].contains("field:messages:room,seq (collection=? AND <expr>=?"),
                "\(plan)")
        }
    }
}
