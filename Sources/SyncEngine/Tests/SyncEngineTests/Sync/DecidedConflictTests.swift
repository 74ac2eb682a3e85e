import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages
import Synchronization
import Testing

@Suite struct DecidedConflictTests {
    let ann = SyncWorld.user("ann")

    private func mutation(
        _ sequence: Int64, _ operation: Mutation.Operation, _ id: String, base: Int64? = nil,
        fields: WireDictionary? = ["title": "mine"]
    ) -> Mutation {
        Mutation(
            sequence: sequence, operation: operation, collection: "decided", id: id, baseRev: base,
            fields: operation == .delete ? nil : fields)
    }

    /// A world in which `x` was changed since revision 1.
    private func world() async throws -> SyncWorld {
        let world = try await SyncWorld()
        try await world.seen(by: ann).create(["id": "x", "title": "t", "text": "old"], in: "decided")
        try await world.own.update("x", ["title": "theirs"], in: "decided")
        return world
    }

    @Test func `the adapter sees both sides and its answer is made once`() async throws {
        var world = try await world()
        let asked = Mutex<[PendingConflict]>([])
        world.resolver = { query in
            asked.withLock { $0.append(query) }
            return .success(.change(["title": "both"]))
        }
        let push = [mutation(1, .update, "x", base: 1), mutation(2, .create, "y")]
        let first = try await world.push(push, from: "one", of: ann)
        #expect(first.map(\.verdict) == [.merged, .applied])
        #expect(first[0].record?.fields["title"] == "both")
        #expect(try await world.push(push, from: "one", of: ann) == first)
        let conflicts = asked.withLock { $0.map(\.conflict) }
        #expect(conflicts.count == 1)
        #expect(conflicts.first?.change == .update(["title": "mine"]))
        #expect(conflicts.first?.current.fields["title"] == "theirs")
        #expect(conflicts.first?.changedSince == ["title"])
    }

    @Test func `it may keep the record or delete it, whatever the change was`() async throws {
        for change in [
            mutation(1, .create, "x"), mutation(1, .update, "x", base: 1), mutation(1, .delete, "x", base: 1),
        ] {
            var world = try await world()
            #expect(try await world.push([change], from: "one", of: ann).map(\.verdict) == [.conflict])
            let kept = try await world.store.withReadSnapshot { try $0.keptCopies(.all, before: nil, limit: 9) }
            #expect(kept.count == 1)
            world.resolver = { _ in .success(.delete) }
            var again = change
            again.sequence = 2
            #expect(try await world.push([again], from: "one", of: ann).map(\.verdict) == [.applied])
            #expect(try await world.own.record("x", in: "decided") == nil)
        }
    }

    @Test func `a decision about an older state is asked for again, and not for ever`() async throws {
        var world = try await world()
        let own = world.own
        let asked = Mutex(0)
        world.resolver = { _ in
            let number = asked.withLock { count in
                count += 1
                return count
            }
            _ = try? await own.update("x", ["text": .string("\(number)")], in: "decided")
            return .success(.change(["title": "both"]))
        }
        let outcomes = try await world.push(
            [mutation(1, .create, "y"), mutation(2, .update, "x", base: 1), mutation(3, .create, "z")], from: "one",
            of: ann)
        #expect(outcomes.map(\.verdict) == [.applied, .retry, .retry])
        #expect(asked.withLock { $0 } == PushExecution.maximumDecisionsPerMutation)
        #expect(try await world.own.record("z", in: "decided") == nil)
        world.resolver = { _ in .success(.change(["title": "both"])) }
        let rest = [mutation(2, .update, "x", base: 1), mutation(3, .create, "z")]
        #expect(try await world.push(rest, from: "one", of: ann).map(\.verdict) == [.merged, .applied])
    }

    @Test func `an adapter that cannot answer now delays, and one that refuses rejects`() async throws {
        var world = try await world()
        world.resolver = { _ in .failure(PorticoError(.upstreamFailed, "down")) }
        let push = [mutation(1, .update, "x", base: 1), mutation(2, .create, "y")]
        let delayed = try await world.push(push, from: "one", of: ann)
        #expect(delayed.map(\.verdict) == [.retry, .retry])
        #expect(delayed.first?.reason == "upstream.failed")
        world.resolver = { _ in .failure(PorticoError(.requestInvalid, "no")) }
        #expect(try await world.push(push, from: "one", of: ann).map(\.verdict) == [.rejected, .applied])
    }

    @Test func `what the store cannot do now keeps what was made before, and is made later`() async throws {
        var world = try await SyncWorld()
        world.fails = ["b": PorticoError(.storeUnavailable, "not now")]
        let push = [mutation(1, .create, "a"), mutation(2, .create, "b"), mutation(3, .create, "c")]
        let first = try await world.push(push, from: "one", of: ann)
        #expect(first.map(\.verdict) == [.applied, .retry, .retry])
        #expect(first.map(\.reason) == [nil, "store.unavailable", "store.unavailable"])
        world.fails = [:]
        #expect(try await world.push(push, from: "one", of: ann).map(\.verdict) == [.applied, .applied, .applied])
        world.fails = ["d": PorticoError(.storeFull, "full")]
        await #expect(throws: PorticoError.self) {
            try await world.push([mutation(4, .create, "d")], from: "one", of: ann)
        }
    }
}
