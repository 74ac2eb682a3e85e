import AdapterKit
import RecordStorage

/// Every collection that devices can sync, by the name that messages give it.
public struct SyncCatalogue: Sendable {
    /// In the order of their names.
    public let collections: [SyncCollection]
    private let byName: [String: SyncCollection]
    private let byID: [CollectionID: SyncCollection]

    /// What each adapter declares, with its access as configured. Entities without a door of their own stay out.
    public init(_ served: [(declaration: AdapterDeclaration, access: Access)]) {
        let found = served.flatMap { declaration, access in
            declaration.entities.filter { $0.exposure == .resource }.map { (declaration, access, $0) }
        }
        let uses = Dictionary(found.map { ($0.2.name, 1) }, uniquingKeysWith: +)
        collections = found.map { declaration, access, entity in
            let id = CollectionID(declaration.name, entity.name)
            return SyncCollection(
                id: id, name: uses[entity.name] == 1 ? entity.name.text : id.description, entity: entity,
                access: access, declaration: declaration)
        }.sorted { $0.name < $1.name }
        byName = Dictionary(collections.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        byID = Dictionary(collections.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    public subscript(name: String) -> SyncCollection? { byName[name] }

    public subscript(id: CollectionID) -> SyncCollection? { byID[id] }
}
