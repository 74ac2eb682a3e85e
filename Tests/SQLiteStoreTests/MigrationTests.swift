import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct MigrationTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try directory.store()
    }

    @Test func `fields, indexes, lists and search are added to records that are there`() async throws {
        let before = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        try await before.create(["id": "x", "name": "Ann"], in: "things")
        let after = try await Things.install(
            Things.declaration(
                [Field("name", .string), Field("rank", .integer), Field("tags", .list(of: .string))],
                indexes: [Index(["name"]), Index(["rank"], isUnique: true)], search: ["name"]), in: store)
        #expect(try await after.query(Query(.search(words: ["an"])), in: "things").records.map(\.id) == ["x"])
        try await after.update("x", ["rank": 1, "tags": ["t"]], in: "things")
        #expect(try await after.count(.listContains("tags", "t"), in: "things") == 1)
        try await after.create(["id": "y", "name": "Bob"], in: "things")
        await #expect(throws: PorticoError.self) { try await after.update("y", ["rank": 1], in: "things") }
    }

    @Test func `a new field's default is a change of every record`() async throws {
        let before = try await Things.install(Things.declaration([]), in: store)
        let old = try await before.create(["id": "x"], in: "things")
        let fields = [
            Field("kind", .string, isRequired: true, defaultValue: "plain"),
            Field("tags", .list(of: .string), defaultValue: ["t"]),
        ]
        let after = try await Things.install(Things.declaration(fields), in: store)
        let record = try #require(try await after.record("x", in: "things"))
        #expect(record["kind"] == "plain")
        #expect(record.revision > old.revision)
        #expect(record.revision == store.position && record.revision == store.position(of: "tests"))
        #expect(try await store.changes(after: old.revision, limit: 10).last?.position == record.revision)
        #expect(try await after.count(.listContains("tags", "t"), in: "things") == 1)
        #expect(try await after.create(["id": "y"], in: "things").revision.number == record.revision.number + 1)
    }

    @Test func `another type is refused where there are values and made where there are none`() async throws {
        let before = try await Things.install(Things.declaration([Field("rank", .integer)]), in: store)
        try await before.create(["id": "x", "rank": 1], in: "things")
        let changed = Things.declaration([Field("rank", .string)])
        let error = await #expect(throws: PorticoError.self) { try await Things.install(changed, in: store) }
        #expect(error?.message.contains("tests/things, field `rank`: records hold values of the kind integer") == true)
        #expect(try await before.record("x", in: "things")?["rank"] == 1)
        try await before.update("x", ["rank": .null], in: "things")
        let after = try await Things.install(changed, in: store)
        #expect(try await after.update("x", ["rank": "first"], in: "things")["rank"] == "first")
    }

    @Test func `decimals and lists can become something else while they are empty`() async throws {
        let kinds: [Shape] = [.decimal(scale: 2), .list(of: .string), .any, .date, .decimal(scale: nil)]
        for shape in kinds {
            let records = try await Things.install(Things.declaration([Field("value", shape)]), in: store)
            try await records.create(["id": "x"], in: "things")
            try await records.delete("x", in: "things")
        }
    }

    @Test func `a field that is no longer declared keeps its values until it is declared again`() async throws {
        let with = Things.declaration([Field("rank", .integer)], indexes: [Index(["rank"])])
        let old = try await Things.install(with, in: store).create(["id": "x", "rank": 1], in: "things")
        let without = try await Things.install(Things.declaration([]), in: store)
        #expect(try await without.record("x", in: "things")?.fields.keys == ["id"])
        await #expect(throws: PorticoError.self) { try await without.update("x", ["rank": 2], in: "things") }
        let again = try #require(try await Things.install(with, in: store).record("x", in: "things"))
        #expect(again["rank"] == 1)
        #expect(again.revision > old.revision)
    }

    @Test func `a required field without a default is refused where there are records`() async throws {
        let records = try await Things.install(Things.declaration([]), in: store)
        try await records.create(["id": "x"], in: "things")
        let declaration = Things.declaration([Field("name", .string, isRequired: true)])
        let error = await #expect(throws: PorticoError.self) { try await Things.install(declaration, in: store) }
        #expect(error?.message.contains("field `name`: it is required") == true)
        try await records.delete("x", in: "things")
        _ = try await Things.install(declaration, in: store)
    }

    @Test func `a unique index over equal values is refused and nothing is changed`() async throws {
        let records = try await Things.install(Things.declaration([Field("code", .string)]), in: store)
        for id: WireValue in ["x", "y"] { try await records.create(["id": id, "code": "c"], in: "things") }
        let declaration = Things.declaration(
            [Field("code", .string), Field("more", .string)], indexes: [Index(["code"], isUnique: true)])
        let error = await #expect(throws: PorticoError.self) { try await Things.install(declaration, in: store) }
        #expect(error?.message.contains("field `code`: a unique index is declared") == true)
        #expect(try await records.record("x", in: "things")?.fields.keys == ["id", "code"])
    }

    @Test func `the key stays what it is`() async throws {
        let other = Field("other", .string(maximumLength: 64), isRequired: true)
        _ = try await Things.install(Things.declaration([other]), in: store)
        await #expect(throws: PorticoError.self) {
            try await Things.install(Things.declaration([other], key: "other"), in: store)
        }
    }

    @Test func `names that differ in case only are refused`() async throws {
        let fields = [Field("name", .string), Field("Name", .string)]
        await #expect(throws: PorticoError.self) { try await Things.install(Things.declaration(fields), in: store) }
        let entity = Entity("THINGS", summary: "", key: EntityKey("id"), fields: [Field("id", .string)])
        _ = try await Things.install(Things.declaration([]), in: store)
        await #expect(throws: PorticoError.self) {
            try await store.install([CollectionDeclaration(adapter: "tests", entity: entity)])
        }
    }
}
