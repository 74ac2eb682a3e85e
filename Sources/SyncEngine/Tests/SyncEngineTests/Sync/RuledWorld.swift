import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages
import Synchronization

/// Houses and the rooms in them: a room needs its house and goes with it, and counts how often it changed.
struct RuledWorld {
    let store: MemoryStore
    let pushes: PushMachine
    let ann = SyncWorld.user("ann")
    let bob = SyncWorld.user("bob")
    private let declaration: AdapterDeclaration

    /// `isRemote`: the rules are asked between transactions, as those of another process.
    init(isRemote: Bool) async throws {
        declaration = isRemote ? Self.declaration.holding(to: RemoteRuleFixture()) : Self.declaration
        store = MemoryStore(epoch: Epoch("one"), clock: StillClock())
        try await store.install(
            Self.declaration.entities.map { CollectionDeclaration(adapter: Self.declaration.name, entity: $0) })
        pushes = PushMachine(
            catalogue: SyncCatalogue([declaration]), epoch: Epoch("one"),
            seal: CountingSeal())
    }

    func seen(by principal: Principal) -> AdapterRecords {
        AdapterRecords(store: store, declaration: declaration, principal: principal)
    }

    var own: AdapterRecords { AdapterRecords(store: store, declaration: Self.declaration) }

    func push(_ mutations: [Mutation]) async throws -> [MutationOutcome] {
        let plan = try pushes.plan(PushRequest(clientID: "one", mutations: mutations), for: SyncCaller(ann))
        let pushes = pushes
        var run = PushExecution(plan)
        while let part = run.next {
            do {
                run.made(
                    try await RuleAnswers.settling { answers in
                        var part = part
                        part.answers = answers
                        return try await store.transact(weight: 1) { [part] in try pushes.perform(part, in: $0) }
                    })
            } catch { try run.failed(error) }
        }
        return run.outcomes
    }

    static let declaration = AdapterDeclaration(
        name: "ruled", title: "Ruled", summary: "For tests.", version: "1",
        access: AccessRights(read: .login, write: .login),
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

/// The same rules, which a transaction may ask only what was asked before it.
private struct RemoteRuleFixture: RemoteRecordRules {
    func asking(_ adapter: @escaping @Sendable () -> any Adapter) -> any RemoteRecordRules { self }
    func answers() -> any RemoteRuleAnswers { Answers() }

    private final class Answers: RemoteRuleAnswers {
        private let questions = Mutex<(open: Set<String>, known: Set<String>)>(([], []))

        var isComplete: Bool { questions.withLock { $0.open.isEmpty } }
        func begin(at position: Revision) { questions.withLock { $0.open = [] } }
        func noteCreated(_ id: RecordID) {}
        func ask() async throws {
            questions.withLock {
                $0.known.formUnion($0.open)
                $0.open = []
            }
        }

        private func isKnown(_ question: String) -> Bool {
            questions.withLock { questions in
                if !questions.known.contains(question) { questions.open.insert(question) }
                return questions.known.contains(question)
            }
        }

        func prepare(
            _ change: RecordChange, of record: Record?, in writing: RecordRuleContext
        ) throws -> PreparedChange? {
            guard isKnown("prepare \(change) \(String(describing: record))") else { return nil }
            return try RuleFixture().prepare(change, of: record, in: writing)
        }

        func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
            guard isKnown("verify \(record)") else { return }
            try RuleFixture().verify(record, of: entity, in: writing)
        }
    }
}
