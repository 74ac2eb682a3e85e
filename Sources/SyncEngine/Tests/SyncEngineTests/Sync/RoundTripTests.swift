import AdapterKit
import MemoryStore
import RecordStorage
import StoreConformance
import SyncEngine
import SyncMessages
import Testing

/// How often a push and a pull would have to ask a store behind a network: whatever they read is declared.
@Suite struct RoundTripTests {
    private let ann = SyncWorld.user("ann")

    @Test(arguments: [1, 20, 120])
    func `a push of any size reads nothing that it has not declared`(count: Int) async throws {
        let world = try await SyncWorld()
        let counting = CountingStore(world.store)
        try await world.own.create(["id": "room", "members": ["ann"]], in: "rooms")
        var mutations: [Mutation] = []
        for number in 1...count {
            mutations.append(try await mutation(Int64(number), world))
        }
        let plan = try world.pushes.plan(PushRequest(clientID: "c", mutations: mutations), for: SyncCaller(ann))
        for attempt in ["first", "repeated"] {
            let pushes = world.pushes
            let progress = try await counting.transact(weight: count, expecting: pushes.reads(of: plan)) {
                try pushes.perform(plan, in: $0)
            }
            #expect(progress.outcomes.count == count)
            let figures = counting.takeFigures()
            #expect(figures.undeclared == [], "\(attempt)")
            #expect(figures.begun == 1 && figures.prefetches <= 1, "\(attempt)")
            #expect(figures.reads >= count)
        }
    }

    /// Of every kind: new records, changes of what the device knows and of what is another meanwhile, deletions, records of a
    /// group, records that are gone.
    private func mutation(_ number: Int64, _ world: SyncWorld) async throws -> Mutation {
        let id = "r\(number)"
        func mutation(
            _ operation: Mutation.Operation, _ collection: String, base: Revision? = nil, _ fields: WireDictionary?
        ) -> Mutation {
            Mutation(
                sequence: number, operation: operation, collection: collection, id: id, baseRev: base?.number,
                fields: fields)
        }
        func note() async throws -> Record {
            try await world.seen(by: ann).create(["id": .string(id), "title": "old"], in: "notes")
        }
        switch number % 8 {
        case 0: return mutation(.create, "notes", ["title": "new"])
        case 1: return mutation(.create, "messages", ["room": "room", "text": "new"])
        case 2: return mutation(.update, "notes", base: try await note().revision, ["title": "new"])
        case 3:
            let base = try await note().revision
            try await world.own.update(RecordID(unchecked: id), ["title": "other"], in: "notes")
            return mutation(.update, "notes", base: base, ["text": "new"])
        case 4: return mutation(.delete, "notes", base: try await note().revision, nil)
        case 5:
            let base = try await note().revision
            try await world.own.delete(RecordID(unchecked: id), in: "notes")
            return mutation(.update, "notes", base: base, ["title": "new"])
        case 6:
            try await world.own.create(["id": .string(id), "room": "room"], in: "messages")
            return mutation(.update, "messages", ["text": "new"])
        default:
            _ = try await note()
            return mutation(.delete, "notes", nil)
        }
    }

    @Test func `a page of five hundred changes reads nothing that it has not declared`() async throws {
        var limits = PullLimits()
        limits.page = 500
        let world = try await SyncWorld(limits: limits)
        let counting = CountingStore(world.store)
        for number in 0..<10 {
            try await world.own.create(["id": .string("room\(number)"), "members": ["ann", "ben"]], in: "rooms")
        }
        for number in 0..<300 {
            try await world.own.create(["id": .string("n\(number)"), "sharedWith": ["ann"]], in: "notes")
            try await world.own.create(
                ["id": .string("m\(number)"), "room": .string("room\(number % 10)")], in: "messages")
        }
        var device = PlainDevice(ann)
        try await device.pull(world)
        // With those that change often less than the page holds: it is one stretch of the log.
        for number in 0..<245 {
            try await change(RecordID(unchecked: "n\(number)"), in: "notes", number, world)
            try await change(RecordID(unchecked: "m\(number)"), in: "messages", number, world)
        }
        let pulls = world.pulls
        let pull = try pulls.prepared(PullRequest(checkpoint: device.checkpoint), for: SyncCaller(ann))
        let page = try await counting.withReadSnapshot(expecting: pulls.reads(of: pull)) {
            try pulls.page(pull, at: $0)
        }
        #expect(page.operations.count > 400)
        let figures = counting.takeFigures()
        #expect(figures.undeclared == [])
        // The records with their histories, and the groups that they name.
        #expect(figures.begun == 1 && figures.prefetches <= 2)
        #expect(figures.reads > 1_000)
    }

    /// Some often, so that a few entries of the log are not enough; some are deleted, some change their group.
    private func change(_ id: RecordID, in entity: EntityName, _ number: Int, _ world: SyncWorld) async throws {
        if number % 50 == 7 { return try await world.own.delete(id, in: entity) }
        if number % 10 == 3, entity == "messages" {
            try await world.own.update(id, ["room": .string("room\((number + 1) % 10)")], in: entity)
            return
        }
        for turn in 0..<(number == 0 ? 6 : 1) {
            try await world.own.update(id, ["text": .string("t\(turn)")], in: entity)
        }
    }

    @Test func `changes under an adapter's rules read nothing else that is not declared`() async throws {
        let world = try await RuledWorld(isRemote: false)
        let counting = CountingStore(world.store)
        try await world.own.create(["id": "h", "owner": "ann"], in: "houses")
        let records = AdapterRecords(store: counting, declaration: RuledWorld.declaration, principal: world.ann)
        _ = try await records.apply([RecordChange("rooms", .create("r", ["house": "h"]))])
        _ = counting.takeFigures()
        _ = try await records.apply([RecordChange("rooms", .update("r", ["colour": "red"]))])
        let figures = counting.takeFigures()
        // What a rule itself reads nobody can declare for it.
        #expect(!figures.undeclared.contains { $0.contains("\"r\"") }, "\(figures.undeclared)")
        #expect(figures.begun == 1 && figures.prefetches == 0)
    }

    @Test func `what is looked at after a commit is declared`() async throws {
        let world = try await SyncWorld()
        let counting = CountingStore(world.store)
        let before = world.store.position
        for number in 0..<40 { try await world.own.create(["id": .string("n\(number)")], in: "notes") }
        let changes = try await counting.withReadSnapshot(expecting: RowChanges.reads(since: before)) {
            try RowChanges(since: before, at: $0)
        }
        #expect(changes?.adapters == ["world"])
        let figures = counting.takeFigures()
        #expect(figures.undeclared == [] && figures.prefetches == 1)
    }
}
