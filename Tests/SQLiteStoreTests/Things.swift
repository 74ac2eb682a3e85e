import AdapterKit
import RecordStorage
import SQLiteStore

/// Versions of one entity, as an adapter might declare them one after the other.
enum Things {
    static let id = CollectionID("tests", "things")

    static func declaration(
        _ fields: [Field], key: FieldName = "id", indexes: [Index] = [], search: [FieldName] = []
    ) -> AdapterDeclaration {
        let entity = Entity(
            "things", summary: "Things.", key: EntityKey(key),
            fields: [Field("id", .string(maximumLength: 64), isRequired: true)] + fields, indexes: indexes,
            searchFields: search)
        return AdapterDeclaration(name: "tests", title: "Tests", summary: "", version: "1", entities: [entity])
    }

    /// Installs the declaration and gives the records.
    static func install(_ declaration: AdapterDeclaration, in store: SQLiteStore) async throws -> AdapterRecords {
        try await store.install(declaration.entities.map { CollectionDeclaration(adapter: "tests", entity: $0) })
        return AdapterRecords(store: store, declaration: declaration)
    }
}
