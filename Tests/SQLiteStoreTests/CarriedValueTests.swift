import AdapterKit
import Foundation
import GRDB
import RecordStorage
import SQLiteStore
import Testing

@Suite struct CarriedValueTests {
    private static let declaration = Things.declaration(
        [
            Field("name", .string), Field("code", .string), Field("tags", .list(of: .string)), Field("extra", .any),
            Field("ratio", .double), Field("at", .date),
        ], indexes: [Index(["code"], isUnique: true)])

    /// Three records; `change` is what an earlier version could have stored and this one refuses.
    private func stored(
        in directory: TemporaryDirectory, _ change: @Sendable (Database, _ table: String) throws -> Void
    ) async throws {
        let store = try directory.store()
        let records = try await Things.install(Self.declaration, in: store)
        for id in ["fine", "odd", "other"] {
            try await records.create(
                ["id": .string(id), "name": "plain", "code": .string(id), "tags": ["a"]], in: "things")
        }
        await store.close()
        let file = try DatabaseQueue(path: directory.path)
        try file.inDatabase { database in
            let table = try String.fetchOne(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%\"ratio\"%'")
            try change(database, try #require(table))
            try database.execute(sql: "DELETE FROM portico_meta WHERE name LIKE 'carried%'")
        }
        try file.close()
    }

    @Test func `stored text that XML cannot carry becomes U+FFFD, once and as a change that replicas get`() async throws
    {
        let directory = try TemporaryDirectory()
        try await stored(in: directory) { database, table in
            let extra: [UInt8] = [0xA1, 0x62, 0x6B, 0x02, 0x81, 0x61, 0x01]  // {"k\u{2}": ["\u{1}"]}
            try database.execute(
                sql: """
                    UPDATE "\(table)" SET name = ?, code = ?, extra = ?, ratio = 9e999, at = ? WHERE id = 'odd'
                    """,
                arguments: [
                    "a\u{1}b\u{FFFF}", "x\u{3}", Data(extra),
                    Data(InstantKey.bytes(of: WireDate(secondsSinceReferenceDate: 1e15))),
                ])
            try database.execute(sql: "UPDATE \"\(table)\" SET code = ? WHERE id = 'other'", arguments: ["x\u{4}"])
        }
        let store = try directory.store()
        let before = store.position
        let records = try await Things.install(Self.declaration, in: store)
        let odd = try #require(try await records.record("odd", in: "things"))
        #expect(odd["name"] == "a\u{FFFD}b\u{FFFD}" && odd["code"] == "x\u{FFFD}")
        #expect(odd["extra"] == ["k\u{FFFD}": ["\u{FFFD}"]])
        #expect(odd["ratio"] == .double(.greatestFiniteMagnitude))
        #expect(odd["at"].dateValue?.rfc3339 == "9999-12-31T23:59:59Z")
        let other = try #require(try await records.record("other", in: "things"))
        #expect(other["code"].stringValue?.hasPrefix("x\u{FFFD}-") == true, "equal values stay apart where they must")

        let log = try await store.changes(after: before, limit: 10)
        #expect(log.map(\.id) == ["odd", "other"] && log.map(\.kind) == [.put, .put])
        #expect(log[0].position == odd.revision && odd.revision > before && store.position == other.revision)
        #expect(log[0].changedFields?.map(\.text) == ["name", "code", "extra", "ratio", "at"])
        #expect(store.replacedValues == [Things.id: 2])
        #expect(store.position(of: "tests") == store.position)
        _ = try await Things.install(Self.declaration, in: store)
        #expect(store.position == other.revision, "nothing is left to be replaced")
        await store.close()
    }

    @Test func `an id that XML cannot carry is removed and created anew`() async throws {
        let directory = try TemporaryDirectory()
        try await stored(in: directory) { database, table in
            try database.execute(sql: "UPDATE \"\(table)\" SET id = ? WHERE id = 'odd'", arguments: ["o\u{FFFE}d"])
        }
        let store = try directory.store()
        let before = store.position
        let records = try await Things.install(Self.declaration, in: store)
        #expect(try await records.record("o\u{FFFD}d", in: "things")?["code"] == "odd")
        #expect(try await records.count(.listContains("tags", "a"), in: "things") == 3)
        let log = try await store.changes(after: before, limit: 10)
        #expect(log.map(\.kind) == [.remove, .put])
        #expect(log.map(\.id) == [RecordID(unchecked: "o\u{FFFE}d"), "o\u{FFFD}d"])
        await store.close()
    }
}
