import AdapterKit
import MemoryStore
import RecordStorage
import SyncMessages
import Testing

@Suite struct `An adapter's record rules` {
    private func refusal(_ body: () async throws -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? PorticoError)?.code
        }
    }

    private func mutation(
        _ sequence: Int64, _ operation: Mutation.Operation, _ collection: String, _ id: String,
        _ fields: WireDictionary? = nil, base: Int64? = nil
    ) -> Mutation {
        Mutation(
            sequence: sequence, operation: operation, collection: collection, id: id, baseRev: base, fields: fields)
    }

    @Test(arguments: [false, true])
    func `hold for a caller's changes and not for the adapter's own`(isRemote: Bool) async throws {
        let world = try await RuledWorld(isRemote: isRemote)
        let room = RecordChange("rooms", .create("r", ["house": "none", "colour": "beige", "changes": 9]))
        #expect(await refusal { _ = try await world.seen(by: world.ann).apply([room]) } == .requestInvalid)
        #expect(try await world.own.apply([room]).records.first??["changes"] == 9)
    }

    @Test(arguments: [false, true])
    func `are asked at the end of what all changes come to, and undo all`(isRemote: Bool) async throws {
        let world = try await RuledWorld(isRemote: isRemote)
        let room = RecordChange("rooms", .create("r", ["house": "h"]))
        let house = RecordChange("houses", .create("h", [:]))
        let other = RecordChange("rooms", .create("s", ["house": "none"]))
        let mine = world.seen(by: world.ann)
        #expect(await refusal { _ = try await mine.apply([room, house, other]) } == .requestInvalid)
        #expect(world.store.position == Revision(0))
        let receipt = try await mine.apply([room, house])
        #expect(receipt.records.map { $0?.id } == ["r", "h"])
        #expect(receipt.records.first??["changes"] == 1)
    }

    @Test(arguments: [false, true])
    func `hold for a device's changes, one by one, within one transaction`(isRemote: Bool) async throws {
        let world = try await RuledWorld(isRemote: isRemote)
        let outcomes = try await world.push([
            mutation(1, .create, "houses", "h"), mutation(2, .create, "rooms", "r", ["house": "h", "changes": 7]),
            mutation(3, .create, "rooms", "beige", ["house": "h", "colour": "beige"]),
            mutation(4, .create, "rooms", "lost", ["house": "none"]),
            mutation(5, .update, "rooms", "r", ["colour": "red", "changes": 7]),
        ])
        #expect(outcomes.map(\.verdict) == [.applied, .applied, .rejected, .rejected, .applied])
        #expect(outcomes[3].reason == ErrorCode.requestInvalid.rawValue)
        let rooms = try await world.own.query(Query(), in: "rooms").records
        #expect(rooms.map(\.id) == ["r"])
        #expect(rooms.first?["changes"] == 2)
        #expect(outcomes[4].rev == rooms.first?.revision.number)
    }

    @Test(arguments: [false, true])
    func `take what hangs on a record with it, in the log too`(isRemote: Bool) async throws {
        let world = try await RuledWorld(isRemote: isRemote)
        let mine = world.seen(by: world.ann)
        _ = try await mine.apply([
            RecordChange("houses", .create("h", [:])), RecordChange("rooms", .create("r", ["house": "h"])),
        ])
        let outcomes = try await world.push([mutation(1, .delete, "houses", "h")])
        #expect(outcomes.map(\.verdict) == [.applied])
        #expect(try await world.own.count(nil, in: "rooms") == 0)
        let log = try await world.store.changes(after: Revision(2), limit: 10)
        #expect(log.map(\.id) == ["r", "h"])
        #expect(outcomes[0].rev == log.last?.position.number)
    }

    @Test(arguments: [false, true])
    func `refusals name no record that the caller may not see`(isRemote: Bool) async throws {
        let world = try await RuledWorld(isRemote: isRemote)
        let mine = world.seen(by: world.ann)
        _ = try await mine.apply([
            RecordChange("houses", .create("h", [:])),
            RecordChange("rooms", .create("r", ["house": "h", "colour": "gold"])),
        ])
        #expect(await refusal { try await mine.delete("h", in: "houses") } == .recordConflict)
        #expect(await refusal { try await world.seen(by: world.bob).delete("h", in: "houses") } == .recordNotFound)
    }
}
