import AdapterKit
import RecordStorage
import SQLiteStore

/// What is written: small records with everything beside their rows that has to stay in step.
enum Entries {
    static let collection = CollectionID("kill", "entries")
    static let entity = Entity(
        "entries", summary: "Written until killed.", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true), Field("state", .string, isRequired: true),
            Field("tags", .list(of: .string)),
        ], indexes: [Index(["state"])], searchFields: ["state"], rows: RowRules(read: .owner("state"), write: .everyone)
    )

    static func open(_ options: Options) async throws -> SQLiteStore {
        var settings = SQLiteStoreSettings(path: options.storePath, integrity: .always, clock: ProcessClock())
        settings.survivesPowerFailure = options.survivesPowerFailure
        let store = try SQLiteStore(settings)
        try await store.install([CollectionDeclaration(adapter: "kill", entity: entity)])
        return store
    }

    static func change(_ id: RecordID, to state: String) -> WriteTransaction {
        let action: RecordChange.Action =
            state == "-"
            ? .delete(id) : .replace(id, ["state": .string(state), "tags": [.string(state), "t"]], orCreate: true)
        return WriteTransaction(
            [WriteTransaction.Step(adapter: "kill", change: RecordChange("entries", action))], author: "driver")
    }
}

struct ProcessClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 0) }
}
