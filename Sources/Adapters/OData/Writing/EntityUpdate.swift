import AdapterKit
import ODataModel
import ODataRecords

/// Changes an entity that is there: PATCH sets what is sent, PUT sets everything (Protocol 4.01, section 11.4.3).
struct EntityUpdate: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    let links: EntityLinks
    let server: ServerValues
    let creation: EntityCreation

    func change(
        _ record: Record, of table: RecordTable, by payload: EntityPayload, replacing: Bool,
        if condition: RecordChange.Condition, _ changes: inout ChangeSet
    ) async throws {
        let known = KnownRecord(record.id, record.fields, of: table)
        let current: (String) -> WireValue = { property in table.columns[property].map { record[$0.field] } ?? .null }
        let values = server.changing(payload.type, merged(payload.values, current, payload.type), current)
        var fields = WireDictionary()
        if replacing { keep(record, table, payload.type, &fields) }
        for (property, value) in values {
            if let column = table.columns[property] { fields[column.field.text] = value }
        }
        if let dynamic = table.dynamicField, replacing || !payload.dynamic.isEmpty {
            var all = replacing ? [:] : record[dynamic].dictionaryValue ?? [:]
            for member in payload.dynamic { all[member.key] = member.value }
            fields[dynamic.text] = .dictionary(all)
        }
        try await navigate(payload, table, known, &fields, &changes)
        let action: RecordChange.Action =
            replacing ? .replace(record.id, fields, orCreate: false) : .update(record.id, fields)
        changes.add(RecordChange(table.entity, action, if: condition))
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

    private func keep(_ record: Record, _ table: RecordTable, _ type: StructuredType, _ fields: inout WireDictionary) {
        for property in server.kept(type) {
            if let column = table.columns[property] { fields[column.field.text] = record[column.field] }
        }
        var hidden = [table.keyField]
        if let discriminator = table.discriminator { hidden.append(discriminator) }
        for stream in table.streams.values { hidden += [stream.content, stream.mediaType] }
        for field in hidden { fields[field.text] = record[field] }
    }

    private func navigate(
        _ payload: EntityPayload, _ table: RecordTable, _ record: KnownRecord, _ fields: inout WireDictionary,
        _ changes: inout ChangeSet
    ) async throws {
        for name in payload.cleared {
            guard case .fields(_, let pairs, false)? = table.relations[name] else { continue }
            for pair in pairs { fields[pair.near.text] = .null }
        }
        for (name, addresses) in payload.bound {
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
        for navigation in payload.type.navigation {
            guard case .fields(_, let pairs, false)? = table.relations[navigation.name],
                let far = tables[table.relations[navigation.name]!.target], payload.bound[navigation.name] == nil,
                pairs.contains(where: { fields[$0.near.text] != nil })
            else { continue }
            var whole = record.fields
            for member in fields { whole[member.key] = member.value }
            try await links.check(pairs, whole, far, changes, target: navigation.name)
        }
        guard payload.nested.isEmpty else {
            throw PorticoError(
                .requestInvalid, "Entities nested in a change are not taken; change them by themselves.",
                target: payload.nested.keys.sorted().first)
        }
    }
}
