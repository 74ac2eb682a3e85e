import AdapterKit
import MemoryStore
import RecordStorage
import Testing

@Suite struct ChangeLogTests {
    private let ann = SyncWorld.user("ann")
    private let ben = SyncWorld.user("ben")

    private func mark(_ world: SyncWorld, _ user: Principal, _ entities: [EntityName]) async throws -> ChangeCursor {
        try await world.seen(by: user).withReadSnapshot { try $0.changeCursor(of: entities) }
    }

    private func news(
        _ world: SyncWorld, _ user: Principal, _ entities: [EntityName], since mark: ChangeCursor, limit: Int = 100
    ) async throws -> ChangedRecordPage {
        try await world.seen(by: user).withReadSnapshot { try $0.changes(of: entities, since: mark, limit: limit) }
    }

    private func code(_ body: () async throws -> ChangedRecordPage) async -> ErrorCode? {
        do {
            _ = try await body()
            return nil
        } catch { return (error as? PorticoError)?.code }
    }

    @Test func `a change is returned to readers of the record, and never where they could not see it`() async throws {
        let world = try await SyncWorld()
        let own = world.seen(by: ann)
        for id in ["kept", "lost", "gone", "secret", "won"] {
            let people: [WireValue] = ["secret", "won"].contains(id) ? [] : ["ben"]
            try await own.create(["id": .string(id), "sharedWith": .array(people)], in: "notes")
        }
        let mark = try await mark(world, ben, ["notes"])
        try await own.update("kept", ["title": "new"], in: "notes")
        try await own.update("lost", ["sharedWith": []], in: "notes")
        try await own.update("secret", ["title": "new"], in: "notes")
        try await own.update("won", ["sharedWith": ["ben"]], in: "notes")
        try await own.delete("gone", in: "notes")
        try await own.delete("secret", in: "notes")
        let page = try await news(world, ben, ["notes"], since: mark)
        #expect(page.isComplete)
        #expect(
            page.records.map { "\($0.id) \($0.state)" } == [
                "kept visible", "lost hidden", "won visible", "gone deleted",
            ])
    }

    @Test func `what came and went is returned, because a reader of pages may have seen it`() async throws {
        let world = try await SyncWorld()
        let own = world.seen(by: ann)
        let (hers, his) = (try await mark(world, ann, ["notes"]), try await mark(world, ben, ["notes"]))
        try await own.create(["id": "short"], in: "notes")
        try await own.delete("short", in: "notes")
        #expect(try await news(world, ann, ["notes"], since: hers).records.map(\.state) == [.deleted])
        #expect(try await news(world, ben, ["notes"], since: his).records.isEmpty)
    }

    @Test func `pages tell every record, each one's last state, and end where the store is`() async throws {
        let world = try await SyncWorld()
        let own = world.seen(by: ann)
        var mark = try await mark(world, ann, ["notes"])
        for round in 0..<3 {
            for id in 0..<7 {
                if round == 0 { try await own.create(["id": .string("\(id)")], in: "notes") }
                try await own.update(RecordID(unchecked: "\(id)"), ["title": .string("\(round)")], in: "notes")
            }
        }
        var told: [RecordID] = []
        while true {
            let page = try await news(world, ann, ["notes"], since: mark, limit: 3)
            #expect(page.records.count <= 3)
            told += page.records.map(\.id)
            mark = page.cursor
            if page.isComplete { break }
        }
        #expect(Set(told).count == 7)
        #expect(mark.position == world.store.position)
    }

    @Test func `another reader, other roles and moved groups have to read again`() async throws {
        let world = try await SyncWorld()
        try await world.own.create(["id": "r", "members": ["ann"]], in: "rooms")
        try await world.own.create(["id": "m", "room": "r"], in: "messages")
        let mark = try await mark(world, ann, ["messages"])
        #expect(await code { try await news(world, ann, ["messages"], since: mark) } == nil)
        #expect(await code { try await news(world, ben, ["messages"], since: mark) } == .fetchAgain)
        #expect(await code { try await news(world, ann, ["notes"], since: mark) } == .fetchAgain)
        let auditor = SyncWorld.user("ann", roles: ["auditor"])
        #expect(await code { try await news(world, auditor, ["messages"], since: mark) } == .fetchAgain)
        try await world.own.update("r", ["title": "t"], in: "rooms")
        #expect(await code { try await news(world, ann, ["messages"], since: mark) } == nil)
        try await world.own.update("r", ["members": ["ben"]], in: "rooms")
        #expect(await code { try await news(world, ann, ["messages"], since: mark) } == .fetchAgain)
    }
}
