import AdapterKit
import GRDB
import RecordStorage
import SQLiteStore
import Testing

/// What a deletion takes with it, beyond what every store promises.
@Suite struct RemovalTests {
    private static let declaration = AdapterDeclaration(
        name: "tests", title: "Tests", summary: "", version: "1",
        entities: [
            Entity(
                "rooms", summary: "", key: EntityKey("id"),
                fields: [Field("id", .string(maximumLength: 64)), Field("members", .list(of: .string))],
                rows: RowRules(read: .sharedWith("members"), write: .sharedWith("members"))),
            Entity(
                "notes", summary: "", key: EntityKey("id"),
                fields: [Field("id", .string(maximumLength: 64)), Field("room", .string(maximumLength: 64))],
                indexes: [Index(["room"])],
                rows: RowRules(
                    read: .memberOf("rooms", through: "room", members: "members"),
                    write: .memberOf("rooms", through: "room", members: "members"))),
        ])

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func caller(_ name: String, in store: SQLiteStore) -> AdapterRecords {
        AdapterRecords(
            store: store, declaration: Self.declaration, principal: Principal(kind: .user, id: "id-\(name)", name: name)
        )
    }

    @Test func `a deletion of more than one transaction holds goes on at the next upkeep`() async throws {
        let (store, all) = (10_450, "notes" as EntityName)
        let file = try directory.store()
        let own = try await Things.install(Self.declaration, in: file)
        try await own.create(["id": "r", "members": ["ann"]], in: "rooms")
        for first in stride(from: 0, to: store, by: 2_090) {
            _ = try await own.apply(
                (first..<first + 2_090).map {
                    RecordChange(all, .create(nil, ["id": .string("n\($0)"), "room": "r"]))
                })
        }
        let ann = caller("ann", in: file)
        try await ann.delete("r", in: "rooms")
        #expect(try await own.count(nil, in: all) == store + 1 - 10_000)
        let refused = await #expect(throws: PorticoError.self) {
            try await ann.create(["id": "r", "members": ["ann"]], in: "rooms")
        }
        #expect(refused?.code == .recordExists)
        _ = try await file.compact(.through(Revision(0)), dryRun: true)
        #expect(try await own.count(nil, in: all) == store + 1 - 10_000)
        _ = try await file.compact(.through(Revision(0)), dryRun: false)
        #expect(try await own.count(nil, in: all) == 0)
        try await ann.create(["id": "r", "members": ["ann"]], in: "rooms")
        #expect(try await ann.count(nil, in: all) == 0)
        await file.close()
    }

    @Test func `a store of version 2 makes up for the deletions that its log tells of`() async throws {
        let old = try directory.store()
        let own = try await Things.install(Self.declaration, in: old)
        for room in ["r", "s"] { try await own.create(["id": .string(room), "members": ["ann"]], in: "rooms") }
        try await own.delete("r", in: "rooms")
        // As version 2 left it: the room's notes were still there.
        for room in ["r", "s"] { try await own.create(["room": .string(room)], in: "notes") }
        await old.close()
        let raw = try DatabaseQueue(path: directory.path)
        try await raw.write {
            try $0.execute(
                sql: """
                    DROP TABLE portico_retired; DROP TABLE portico_unfinished_removal; DROP TABLE portico_mirror;
                    ALTER TABLE portico_collection DROP COLUMN replaced; PRAGMA user_version = 2
                    """)
        }
        try raw.close()
        let store = try directory.store()
        let records = try await Things.install(Self.declaration, in: store)
        for name in ["ann", "bob"] {
            let refused = await #expect(throws: PorticoError.self) {
                try await caller(name, in: store).create(["id": "r", "members": [.string(name)]], in: "rooms")
            }
            #expect(refused?.code == .recordExists)
        }
        _ = try await store.compact(.through(Revision(0)), dryRun: false)
        #expect(try await records.query(Query(), in: "notes").records.map { $0["room"] } == ["s"])
        await store.close()
    }
}
