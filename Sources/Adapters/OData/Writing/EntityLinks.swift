import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Adds and removes links between entities, for every kind of relation.
struct EntityLinks: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    /// `https://host/odata/v4/service/`
    let root: String
    /// What addresses are written in.
    var language = LanguageVersion.v4
    let limits: LanguageLimits

    /// The entity of an address, which must be one of the table's. Throws `request.invalid` where it is not there.
    func record(
        at address: String, in table: RecordTable, _ changes: ChangeSet, target: String
    ) async throws -> RecordReference {
        let entityPath: EntityPath
        do {
            entityPath = try self.entityPath(at: address)
        } catch {
            throw PorticoError(.requestInvalid, "This is no address of an entity.", target: target)
        }
        guard entityPath.table.entity == table.entity else {
            throw PorticoError(.requestInvalid, "\(target) leads to entities of \(table.source).", target: target)
        }
        if case .key(let id) = entityPath.origin, let fields = changes.fields(of: id, in: table.entity) {
            return RecordReference(id, fields, of: table)
        }
        guard let record = try await RecordFinder(tables: tables, records: records).record(entityPath) else {
            throw PorticoError(.requestInvalid, "\(target) names an entity that is not there.", target: target)
        }
        return RecordReference(record.id, record.fields, of: table)
    }

    /// An entity's address: absolute, from the host's root, or from the service's.
    func entityPath(at address: String) throws -> EntityPath {
        var text = address
        if text.hasPrefix(root) {
            text = String(text.dropFirst(root.count))
        } else if let slash = root.dropFirst("https://".count).firstIndex(of: "/"),
            text.hasPrefix(String(root[slash...]))
        {
            text = String(text.dropFirst(root[slash...].count))
        }
        let request = try TargetReader.target(text, language: language, limits: limits)
        guard case .path(let segments) = request.resource,
            case .entity(let entityPath) = try ResourcePathReader(tables: tables, options: request.options).address(
                segments
            )
            .target
        else { throw PorticoError(.requestInvalid, "This is no address of an entity.") }
        return entityPath
    }

    /// What a relation from `near` fixes in the fields of the records that it leads to.
    static func given(by relation: RecordRelation, from near: RecordReference) -> [FieldName: WireValue] {
        guard case .fields(_, let pairs, _) = relation else { return [:] }
        return Dictionary(pairs.map { ($0.far, near[$0.near]) }, uniquingKeysWith: { $1 })
    }

    func link(_ near: RecordReference, to far: RecordReference, by relation: RecordRelation, _ changes: inout ChangeSet)
    {
        switch relation {
        case .fields(let target, _, _):
            guard let table = tables[target] else { return }
            var fields = WireDictionary()
            for (field, value) in Self.given(by: relation, from: near) { fields[field.text] = value }
            changes.add(RecordChange(table.entity, .update(far.id, fields)))
        case .links(_, let through, let own, _, _):
            let (first, second) = own == LinkTable.near ? (near, far) : (far, near)
            let pair = LinkTable.pair(first.id, second.id)
            changes.add(
                RecordChange(
                    through,
                    .replace(
                        RecordID(unchecked: pair),
                        [
                            LinkTable.key.text: .string(pair), LinkTable.near.text: first.key,
                            LinkTable.far.text: second.key,
                        ], orCreate: true)))
        }
    }
}
