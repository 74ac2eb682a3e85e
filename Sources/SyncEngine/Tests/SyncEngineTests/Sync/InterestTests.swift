import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import Testing

@Suite struct InterestTests {
    private let ann = SyncWorld.user("ann")

    private func concerned(
        _ world: SyncWorld, in names: [String]? = nil, _ user: String, by change: () async throws -> Void
    ) async throws -> Bool {
        let before = world.store.position
        try await change()
        let news = try await world.store.withReadSnapshot { try RowChanges(since: before, at: $0) }
        let interest = SyncInterest(names, in: world.catalogue, for: SyncCaller(SyncWorld.user(user)))
        return interest.isConcerned(by: try #require(news))
    }

    @Test func `a row concerns those who see it, those who saw it before, and no other caller`() async throws {
        let world = try await SyncWorld()
        let mine = world.seen(by: ann)
        for (user, expected) in [("ann", true), ("ben", true), ("eve", false)] {
            let isConcerned = try await concerned(world, user) {
                try await mine.create(["id": .string(user), "sharedWith": ["ben"]], in: "notes")
            }
            #expect(isConcerned == expected, "\(user) at the creation")
        }
        #expect(
            try await concerned(world, "ben") { try await mine.update("eve", ["sharedWith": ["eve"]], in: "notes") })
        #expect(!(try await concerned(world, "ben") { try await mine.update("eve", ["title": "x"], in: "notes") }))
        #expect(try await concerned(world, "eve") { try await mine.delete("eve", in: "notes") })
    }

    @Test func `other collections concern no caller, and groups every caller that follows what they open`() async throws
    {
        let world = try await SyncWorld()
        let change = { _ = try await world.own.create(["members": ["ann"]], in: "rooms") }
        #expect(!(try await concerned(world, in: ["notes"], "ben", by: { try await change() })))
        #expect(try await concerned(world, in: ["messages"], "ben", by: { try await change() }))
        #expect(
            try await concerned(world, in: ["messages"], "ben") {
                try await world.own.create(["room": "r", "author": "ann"], in: "messages")
            })
    }

    @Test func `a deletion concerns every caller that saw the row, where the rule looks at no field of it`()
        async throws
    {
        let open: [Entity] = [
            Entity("open", summary: "Everybody's.", key: EntityKey("id"), fields: [Field("id", .string)]),
            Entity(
                "closed", summary: "The auditors'.", key: EntityKey("id"), fields: [Field("id", .string)],
                rows: RowRules(read: .hasRole("auditor"), write: .everyone)),
        ]
        let declaration = AdapterDeclaration(name: "a", title: "A", summary: "For tests.", version: "1", entities: open)
        let store = MemoryStore(MemoryTables(), epoch: Epoch("one"), clock: StillClock())
        try await store.install(open.map { CollectionDeclaration(adapter: "a", entity: $0) })
        let records = AdapterRecords(store: store, declaration: declaration)
        let catalogue = SyncCatalogue([declaration])
        for (name, expected) in [("open", true), ("closed", false)] as [(EntityName, Bool)] {
            try await records.create(["id": "1"], in: name)
            let before = store.position
            try await records.delete("1", in: name)
            let news = try #require(try await store.withReadSnapshot { try RowChanges(since: before, at: $0) })
            let auditor = SyncCaller(SyncWorld.user("ann", roles: ["auditor"]))
            #expect(SyncInterest(nil, in: catalogue, for: auditor).isConcerned(by: news))
            #expect(SyncInterest(nil, in: catalogue, for: SyncCaller(ann)).isConcerned(by: news) == expected)
        }
    }

    @Test func `too many changes concern every caller`() async throws {
        let world = try await SyncWorld()
        for _ in 0...RowChanges.mostEntries { try await world.own.create(["title": "t"], in: "notes") }
        let news = try await world.store.withReadSnapshot { try RowChanges(since: Revision(0), at: $0) }
        #expect(news == nil)
    }
}
