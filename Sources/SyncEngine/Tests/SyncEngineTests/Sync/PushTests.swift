import AdapterKit
import MemoryStore
import RecordStorage
import SyncMessages
import Testing

@Suite struct PushTests {
    let ann = SyncWorld.user("ann")

    @Test(arguments: ["notes", "rejecting", "lastWins"])
    func `two changes of one field are settled by the entity's policy, and the loser is kept`(
        collection: String
    ) async throws {
        let world = try await SyncWorld()
        let base = try await create("x", in: collection, world)
        try await change("x", ["title": "first"], base, in: collection, world, from: "one", 2)
        let outcome = try await change("x", ["title": "second"], base, in: collection, world, from: "two", 1)
        let title = try await world.own.record("x", in: EntityName(unchecked: collection))?["title"]
        let kept = try await world.store.withReadSnapshot { try $0.keptCopies(.all, before: nil, limit: 10) }
        #expect(kept.count == 1)
        if collection == "lastWins" {
            #expect(outcome.verdict == .applied && title == "second")
            #expect(kept.first?.copy.content["overwritten"]?["title"] == "first")
        } else {
            #expect(outcome.verdict == .conflict && title == "first")
            #expect(outcome.record?.fields["title"] == "first")
            #expect(kept.first?.copy.content["fields"]?["title"] == "second")
        }
    }

    @Test func `changes of different fields merge, also across several changes in between`() async throws {
        let world = try await SyncWorld()
        let base = try await create("x", in: "notes", world)
        for title in ["a", "b", "c", "d", "e", "f"] {
            try await world.own.update("x", ["title": .string(title)], in: "notes")
        }
        let outcome = try await change("x", ["text": "mine"], base, in: "notes", world, from: "two", 1)
        #expect(outcome.verdict == .merged)
        #expect(outcome.record?.fields["title"] == "f" && outcome.record?.fields["text"] == "mine")
    }

    @Test func `where the log no longer tells what changed, nothing is merged`() async throws {
        let world = try await SyncWorld()
        let base = try await create("x", in: "notes", world)
        try await world.own.update("x", ["title": "a"], in: "notes")
        try await world.own.update("x", ["title": "b"], in: "notes")
        _ = try await world.store.compact(.through(Revision(world.store.position.number - 1)), dryRun: false)
        let outcome = try await change("x", ["text": "mine"], base, in: "notes", world, from: "two", 1)
        #expect(outcome.verdict == .conflict)
    }

    @Test func `a revision of another history is no base`() async throws {
        let world = try await SyncWorld()
        let base = try await create("x", in: "notes", world)
        let other = try await SyncWorld(epoch: Epoch("two")).page(PullRequest(), for: ann)
        guard case .complete(let completion) = other.ending else { return #expect(Bool(false)) }
        let mutation = Mutation(
            sequence: 5, operation: .update, collection: "notes", id: "x", baseRev: base, fields: ["title": "t"])
        let outcomes = try await world.push([mutation], from: "one", of: ann, checkpoint: completion.checkpoint)
        #expect(outcomes.map(\.verdict) == [.conflict])
    }

    @Test func `a number below one that was answered is not made`() async throws {
        let world = try await SyncWorld()
        try await create("x", in: "notes", world, sequence: 7)
        let late = Mutation(sequence: 3, operation: .create, collection: "notes", id: "y", baseRev: nil, fields: [:])
        #expect(try await world.push([late], from: "one", of: ann).map(\.verdict) == [.rejected])
        #expect(try await world.own.record("y", in: "notes") == nil)
    }

    @Test func `a repeated conflict tells no record that its user has lost the scopeHash of`() async throws {
        let world = try await SyncWorld()
        let ben = SyncWorld.user("ben")
        try await world.own.create(["id": "x", "sharedWith": ["ben"], "title": "seen"], in: "notes")
        let create = Mutation(sequence: 1, operation: .create, collection: "notes", id: "x", baseRev: nil, fields: [:])
        #expect(try await world.push([create], from: "b", of: ben).first?.record?.fields["title"] == "seen")
        try await world.own.update("x", ["sharedWith": [], "title": "hidden"], in: "notes")
        let again = try await world.push([create], from: "b", of: ben).first
        #expect(again?.verdict == .conflict && again?.record == nil)
    }

    @Test(arguments: ["notes", "rejecting", "decided"])
    func `who may write a collection and not read it is told of no record and of no value`(
        collection: String
    ) async throws {
        let name = EntityName(unchecked: collection)
        var world = try await SyncWorld(given: [name: AccessRights(read: .roles(["auditor"]), write: .login)])
        world.resolver = { _ in .success(.change(["text": "decided"])) }
        try await create("mine", in: collection, world)
        try await world.own.create(["id": "x", "sharedWith": ["ann"], "title": "secret"], in: name)
        try await world.own.update("mine", ["title": "other"], in: name)
        let taken = Mutation(
            sequence: 2, operation: .create, collection: collection, id: "x", baseRev: nil, fields: [:])
        let guess = Mutation(
            sequence: 3, operation: .update, collection: collection, id: "mine", baseRev: 1, fields: ["title": "other"])
        let outcomes = try await world.push([taken, guess], from: "one", of: ann)
        #expect(outcomes.allSatisfy { $0.record == nil })
        if collection != "decided" { #expect(outcomes.map(\.verdict) == [.conflict, .conflict]) }
        // Again: what was stored has no record either.
        #expect(try await world.push([taken, guess], from: "one", of: ann) == outcomes)
    }

    @Test(arguments: [Access.login, .roles(["auditor"])])
    func `a deletion takes no records along that the caller may not write`(writers: Access) async throws {
        let world = try await SyncWorld(given: ["notices": AccessRights(read: .login, write: writers)])
        try await world.own.create(["id": "r", "members": ["ann"]], in: "rooms")
        try await world.own.create(["id": "n", "room": "r"], in: "notices")
        let delete = Mutation(sequence: 1, operation: .delete, collection: "rooms", id: "r", baseRev: nil, fields: nil)
        let outcome = try await world.push([delete], from: "one", of: ann).first
        let isRefused = writers != .login
        #expect(outcome?.reason == (isRefused ? "access.denied" : nil))
        #expect(try await (world.own.record("r", in: "rooms") != nil) == isRefused)
        #expect(try await (world.own.record("n", in: "notices") != nil) == isRefused)
    }

    @discardableResult
    private func create(
        _ id: String, in collection: String, _ world: SyncWorld, sequence: Int64 = 1
    ) async throws -> Int64? {
        let mutation = Mutation(
            sequence: sequence, operation: .create, collection: collection, id: id, baseRev: nil,
            fields: ["title": "t"])
        let outcome = try await world.push([mutation], from: "one", of: ann).first
        #expect(outcome?.verdict == .applied)
        return outcome?.rev
    }

    @discardableResult
    private func change(
        _ id: String, _ fields: WireDictionary, _ base: Int64?, in collection: String, _ world: SyncWorld,
        from client: String, _ sequence: Int64
    ) async throws -> MutationOutcome {
        let mutation = Mutation(
            sequence: sequence, operation: .update, collection: collection, id: id, baseRev: base, fields: fields)
        return try #require(try await world.push([mutation], from: client, of: ann).first)
    }
}
