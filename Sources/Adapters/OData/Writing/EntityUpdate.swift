import AdapterKit
import ODataEngine
import ODataModel

/// Changes an existing entity: PATCH sets the properties that are sent, PUT sets all (Protocol 4.01, section 11.4.3).
struct EntityUpdate: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    let links: EntityLinks
    let creation: EntityCreation

    func change(
        _ record: Record, of table: RecordTable, by payload: EntityPayload, replacing: Bool,
        if condition: RecordChange.Condition, depth: Int = 0, _ changes: inout ChangeSet
    ) async throws {
        let nested = NestedChanges(update: self, record: record, table: table, isReplacing: replacing, depth: depth)
        let known = RecordReference(record.id, record.fields, of: table)
        let current: (String) -> WireValue = { property in table.columns[property].map { record[$0.field] } ?? .null }
        let values = ServerValues.changeable(payload.type, merged(payload.values, current, payload.type))
        var fields = WireDictionary()
        if replacing { keep(record, table, &fields) }
        for (property, value) in values {
            if let column = table.columns[property] { fields[column.field.text] = value }
        }
        if let dynamic = table.dynamicField, replacing || !payload.dynamic.isEmpty {
            var all = replacing ? [:] : record[dynamic].dictionaryValue ?? [:]
            for member in payload.dynamic { all[member.key] = member.value }
            fields[dynamic.text] = .dictionary(all)
        }
        try await navigate(payload, table, known, nested, &fields, &changes)
        let action: RecordChange.Action =
            replacing ? .replace(record.id, fields, orCreate: false) : .update(record.id, fields)
        changes.add(RecordChange(table.entity, action, if: condition))
        try await nested.lists(payload, &changes)
    }

    /// A complex value that PATCH sends changes the members that it names.
    private func merged(
        _ values: [String: WireValue], _ current: (String) -> WireValue, _ type: StructuredType
    ) -> [String: WireValue] {
        values.reduce(into: [:]) { result, entry in
            guard case .dictionary(let sent) = entry.value, case .complex? = type.property(entry.key)?.type.type,
                case .dictionary(var existing) = current(entry.key)
            else {
                result[entry.key] = entry.value
                return
            }
            for member in sent { existing[member.key] = member.value }
            result[entry.key] = .dictionary(existing)
        }
    }

    /// The fields that no request sets.
    private func keep(_ record: Record, _ table: RecordTable, _ fields: inout WireDictionary) {
        var hidden = [table.keyField]
        if let discriminator = table.discriminator { hidden.append(discriminator) }
        for stream in table.streams.values { hidden += [stream.content, stream.mediaType] }
        for field in hidden { fields[field.text] = record[field] }
    }

    private func navigate(
        _ payload: EntityPayload, _ table: RecordTable, _ record: RecordReference, _ nested: NestedChanges,
        _ fields: inout WireDictionary, _ changes: inout ChangeSet
    ) async throws {
        try await nested.single(payload, &fields, &changes)
        for name in payload.cleared {
            guard case .fields(_, let pairs, false)? = table.relations[name] else { continue }
            for pair in pairs { fields[pair.near.text] = .null }
        }
        for (name, addresses) in payload.bound where !nested.isList(name, payload) {
            guard let relation = table.relations[name], let far = tables[relation.target] else { continue }
            for address in addresses {
                let other = try await links.record(at: address, in: far, changes, target: name)
                if case .fields(_, let pairs, false) = relation {
                    for pair in pairs { fields[pair.near.text] = other[pair.far] }
                } else {
                    links.link(record, to: other, by: relation, &changes)
                }
            }
        }
    }
}

/// Conditions of a write (RFC 9110, section 13.1; Protocol 4.01, section 8.2.4).
struct WriteConditions: Sendable {
    private let ifMatch: String?
    private let ifNoneMatch: String?

    init(_ headers: MountHeaders) {
        ifMatch = headers["If-Match"]
        ifNoneMatch = headers["If-None-Match"]
    }

    var allowsChange: Bool { ifNoneMatch == nil }

    /// Throws `record.preconditionFailed` for a record that they do not hold for.
    func check(_ record: Record?) throws(PorticoError) {
        if let ifMatch {
            guard let record else { throw Self.failed }
            if let revisions = EntityTag.revisions(ifMatch), !revisions.contains(record.revision) { throw Self.failed }
        }
        if let ifNoneMatch, let record {
            guard let revisions = EntityTag.revisions(ifNoneMatch) else { throw Self.failed }
            if revisions.contains(record.revision) { throw Self.failed }
        }
    }

    static let failed = PorticoError(.preconditionFailed, "The entity is not in the state that the request names.")
}
