import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages

/// Houses and the rooms in them: a room needs its house and goes with it, and counts how often it changed.
struct RuledWorld {
    let store: MemoryStore
    let pushes: PushMachine
    let ann = SyncWorld.user("ann")
    let bob = SyncWorld.user("bob")

    init() async throws {
        store = MemoryStore(epoch: Epoch("one"), clock: StillClock())
        try await store.install(
            Self.declaration.entities.map { CollectionDeclaration(adapter: Self.declaration.name, entity: $0) })
        pushes = PushMachine(
            catalogue: SyncCatalogue([(declaration: Self.declaration, access: .login)]), epoch: Epoch("one"),
            seal: CountingSeal())
    }

    func seen(by principal: Principal) -> AdapterRecords {
        AdapterRecords(store: store, declaration: Self.declaration, principal: principal)
    }

    var own: AdapterRecords { AdapterRecords(store: store, declaration: Self.declaration) }

    func push(_ mutations: [Mutation]) async throws -> [MutationOutcome] {
        let plan = try pushes.plan(PushRequest(clientID: "one", mutations: mutations), for: SyncCaller(ann))
        let pushes = pushes
        return try await store.transact(weight: 1) { try pushes.perform(plan, in: $0).outcomes }
    }

    static let declaration = AdapterDeclaration(
        name: "ruled", title: "Ruled", summary: "For tests.", version: "1",
        entities: [
            Entity(
                "houses", summary: "Owned.", key: EntityKey("id"),
                fields: [Field("id", .string), Field("owner", .string, source: .creator)],
                rows: RowRules(read: .owner("owner"), write: .owner("owner"))),
            Entity(
                "rooms", summary: "In houses.", key: EntityKey("id"),
                fields: [
                    Field("id", .string), Field("house", .string, isRequired: true), Field("colour", .string),
                    Field("changes", .integer, defaultValue: 0, source: .rules),
                ]),
        ], rules: RuleFixture())
}

private struct RuleFixture: RecordRules {
    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        switch (change.entity.text, change.action) {
        case ("houses", .delete(let id)):
            let rooms = try writing.snapshot.query(Query(.compare("house", .equal, .string(id.text))), in: "rooms")
            guard rooms.records.allSatisfy({ $0["colour"] != "gold" }) else {
                throw PorticoError(.recordConflict, "There is gold in it.")
            }
            return PreparedChange(change, after: rooms.records.map { RecordChange("rooms", .delete($0.id)) })
        case ("rooms", .create), ("rooms", .update), ("rooms", .replace):
            guard change.fields["colour"] != "beige" else { throw PorticoError(.requestInvalid, "Not beige.") }
            var fields = change.fields
            fields["changes"] = .int64((record?["changes"].int64Value ?? 0) + 1)
            return PreparedChange(change.setting(fields))
        default: return PreparedChange(change)
        }
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        guard entity == "rooms", let house = record["house"].stringValue.flatMap({ RecordID($0) }) else { return }
        guard try writing.snapshot.record(house, in: "houses") != nil else {
            throw PorticoError(.requestInvalid, "There is no such house.", target: "house")
        }
    }
}
