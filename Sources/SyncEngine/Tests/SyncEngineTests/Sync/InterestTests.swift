import AdapterKit
import MemoryStore
import SyncEngine
import Testing

@Suite struct InterestTests {
    private let ann = SyncWorld.user("ann")

    private func concerned(
        _ world: SyncWorld, in names: [String]? = nil, _ user: String, by change: () async throws -> Void
    ) async throws -> Bool {
        let before = world.store.position
        try await change()
        let news = try await world.store.atOneMoment { try SyncNews(since: before, at: $0) }
        let interest = SyncInterest(names, in: world.catalogue, for: SyncCaller(SyncWorld.user(user)))
        return interest.isConcerned(by: try #require(news))
    }

    @Test func `a row concerns those who see it, who saw it before, and nobody else`() async throws {
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

    @Test func `other collections concern nobody, and groups everybody who follows what they open`() async throws {
        let world = try await SyncWorld()
        let change = { _ = try await world.own.create(["members": ["ann"]], in: "rooms") }
        #expect(!(try await concerned(world, in: ["notes"], "ben", by: { try await change() })))
        #expect(try await concerned(world, in: ["messages"], "ben", by: { try await change() }))
        #expect(
            try await concerned(world, in: ["messages"], "ben") {
                try await world.own.create(["room": "r", "author": "ann"], in: "messages")
            })
    }

    @Test func `too many changes concern everybody`() async throws {
        let world = try await SyncWorld()
        for _ in 0...SyncNews.mostEntries { try await world.own.create(["title": "t"], in: "notes") }
        let news = try await world.store.atOneMoment { try SyncNews(since: Revision(0), at: $0) }
        #expect(news == nil)
    }
}
