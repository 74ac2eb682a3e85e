import AdapterKit
import Foundation
import GRDB
import RecordStorage
import SQLiteStore
import Testing

/// Instants were stored as doubles, seconds since 2001; now they are keys that compare like them.
@Suite struct InstantMigrationTests {
    private static let declaration = Things.declaration(
        [Field("name", .string), Field("at", .date), Field("days", .list(of: .date)), Field("due", .date)],
        indexes: [Index(["at"]), Index(["name", "at"], isUnique: true), Index(["name"])])

    private static let fields = ["at", "due"]

    /// Brings a database of this version to the form that an earlier one wrote: REAL columns, and lists of them.
    private func makeFormer(_ path: String, _ values: [String: Double]) throws {
        let file = try DatabaseQueue(path: path)
        try file.inDatabase { database in
            let indexes = try Row.fetchAll(
                database, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%\"at\"%'")
            for index in indexes { try database.execute(sql: "DROP INDEX \"\(index["name"] as String)\"") }
            for field in Self.fields {
                try database.execute(sql: "ALTER TABLE \"tests/things\" ADD COLUMN \"former\" REAL")
                for (id, seconds) in values {
                    try database.execute(
                        sql: "UPDATE \"tests/things\" SET former = ? WHERE id = ?", arguments: [seconds, id])
                }
                try database.execute(sql: "ALTER TABLE \"tests/things\" DROP COLUMN \"\(field)\"")
                try database.execute(sql: "ALTER TABLE \"tests/things\" RENAME COLUMN former TO \"\(field)\"")
            }
            for index in indexes { try database.execute(sql: index["sql"]) }
            try database.execute(
                sql: """
                    CREATE TABLE former (value REAL NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (value, row)) STRICT, WITHOUT ROWID;
                    INSERT INTO former SELECT t.at, t._row FROM "tests/things" t WHERE t.at IS NOT NULL;
                    DROP TABLE "tests/things~days";
                    ALTER TABLE former RENAME TO "tests/things~days";
                    UPDATE portico_field SET kind = 'date' WHERE kind = 'instant';
                    UPDATE portico_field SET kind = 'list of date' WHERE kind = 'list of instant';
                    """)
        }
        try file.close()
    }

    private func columnType(_ path: String, _ column: String) throws -> String? {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        return try file.inDatabase { database in
            try String.fetchOne(
                database, sql: "SELECT type FROM pragma_table_info('tests/things') WHERE name = ?", arguments: [column])
        }
    }

    /// Up to ten digits, as earlier code read them: to the nearest double.
    private func doubles(_ count: Int) -> [String: Double] {
        var random = SeededRandom(seed: 36)
        var values: [String: Double] = [
            "first": -63_145_526_400, "distantPast": -63_114_076_800, "last": 252_423_993_599, "zero": 0, "half": -0.5,
            "device": 446_659_264.757_087_4,
        ]
        while values.count < count {
            let isNear = Bool.random(using: &random)
            let whole = Double.random(in: isNear ? 7.8e8...8.2e8 : -6.3e10...2.52e11, using: &random)
            let digits = ([1, 1e3, 1e6, 1e7, 1e10] as [Double]).randomElement(using: &random) ?? 1
            values["m\(values.count)"] = (whole * digits).rounded() / digits
        }
        return values
    }

    @Test func `every double becomes the instant that it was shown as, and no record changes`() async throws {
        let directory = try TemporaryDirectory()
        let values = doubles(10_000)
        let shown = values.mapValues { WireDate(secondsSinceReferenceDate: $0) }
        var store = try directory.store()
        var records = try await Things.install(Self.declaration, in: store)
        let changes = values.keys.sorted().map { id in
            RecordChange(
                "things",
                .create(
                    nil, ["id": .string(id), "name": .string(id), "days": .array([.date(shown[id] ?? .referenceDate)])])
            )
        }
        for start in stride(from: 0, to: changes.count, by: 500) {
            _ = try await records.apply(Array(changes[start..<min(start + 500, changes.count)]))
        }
        let position = store.position
        await store.close()
        try makeFormer(directory.path, values)
        #expect(try columnType(directory.path, "at") == "REAL")

        store = try directory.store()
        records = try await Things.install(Self.declaration, in: store)
        #expect(store.position == position, "no record has another revision")
        let ordered = shown.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let found = try await records.query(Query(order: [SortKey("at")], limit: 10_000), in: "things").records
        #expect(found.map(\.id.text) == ordered.map(\.key))
        #expect(found.map { $0["at"].dateValue } == ordered.map(\.value))
        #expect(found.map { $0["due"].dateValue } == ordered.map(\.value))
        for (id, instant) in ordered.prefix(50) {
            #expect(try await records.count(.compare("at", .equal, .date(instant)), in: "things") == 1, "\(id)")
            #expect(try await records.count(.listContains("days", .date(instant)), in: "things") == 1, "\(id)")
        }
        // What only this version tells apart.
        let fine = try #require(WireDate(rfc3339: "2026-06-24T12:57:44.7570874Z"))
        try await records.update("zero", ["at": .date(fine), "days": [.date(fine)]], in: "things")
        #expect(try await records.record("zero", in: "things")?["at"] == .date(fine))
        #expect(try await records.count(.listContains("days", .date(fine)), in: "things") == 1)
        await #expect(throws: PorticoError.self, "the unique index is there") {
            try await records.create(["id": "other", "name": "zero", "at": .date(fine)], in: "things")
        }
        await store.close()
        #expect(try columnType(directory.path, "at") == "BLOB")

        store = try directory.store()
        records = try await Things.install(Self.declaration, in: store)
        #expect(try await records.record("zero", in: "things")?["at"] == .date(fine), "it happens once")
        await store.close()
    }

    @Test func `a field that is declared again later has its instants too`() async throws {
        let directory = try TemporaryDirectory()
        var store = try directory.store()
        var records = try await Things.install(Self.declaration, in: store)
        try await records.create(["id": "x", "name": "x"], in: "things")
        await store.close()
        try makeFormer(directory.path, ["x": 0.25])
        store = try directory.store()
        let less = Things.declaration([Field("name", .string), Field("days", .list(of: .date))])
        records = try await Things.install(less, in: store)
        #expect(try await records.record("x", in: "things")?.fields.keys == ["id", "name", "days"])
        records = try await Things.install(Self.declaration, in: store)
        #expect(try await records.record("x", in: "things")?["at"].dateValue?.rfc3339 == "2001-01-01T00:00:00.25Z")
        await store.close()
    }

    @Test func `keys compare as the instants do, and come back`() throws {
        let texts = [
            "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000000000000000001Z", "0000-12-30T00:00:00Z",
            "2000-12-31T23:59:59.9999999999Z", "2001-01-01T00:00:00Z", "2001-01-01T00:00:00.0000000999Z",
            "2001-01-01T00:00:00.0000001Z", "2026-06-24T12:57:44.7570873Z", "2026-06-24T12:57:44.75708739Z",
            "2026-06-24T12:57:44.7570874Z", "9999-12-31T23:59:59.999999999999999999Z",
        ]
        let instants = try texts.map { try #require(WireDate(rfc3339: $0)) }
        let keys = instants.map(InstantKey.bytes(of:))
        for (smaller, larger) in zip(keys, keys.dropFirst()) { #expect(smaller.lexicographicallyPrecedes(larger)) }
        for (key, instant) in zip(keys, instants) {
            #expect(key.withUnsafeBytes { InstantKey.instant($0) } == instant)
        }
    }
}
