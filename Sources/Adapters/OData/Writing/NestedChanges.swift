import AdapterKit
import ODataEngine
import ODataModel

/// Changes of related entities that are nested in the change of an entity (Protocol 4.01, section 11.4.3.1).
///
/// A list replaces the whole relation: listed entities are changed, created or linked, all others are unlinked. A delta
/// lists single changes.
struct NestedChanges: Sendable {
    let update: EntityUpdate
    let record: Record
    let table: RecordTable
    let isReplacing: Bool
    let depth: Int

    private var tables: ServiceTables { update.tables }
    private var known: RecordReference { RecordReference(record.id, record.fields, of: table) }

    func isList(_ name: String, _ payload: EntityPayload) -> Bool {
        payload.listed[name] != nil && payload.type.navigation(name)?.isCollection == true
    }

    /// Single-valued navigation: the entity that is there is changed; where there is none it is created.
    func single(_ payload: EntityPayload, _ fields: inout WireDictionary, _ changes: inout ChangeSet) async throws {
        for navigation in payload.type.navigation where !navigation.isCollection {
            guard let item = payload.nested[navigation.name]?.first, let joined = join(navigation) else { continue }
            let existing = try await entities(joined).first
            var far: RecordReference
            if let existing, try key(item, joined).map({ $0 == existing.id }) ?? true {
                try await change(existing, by: item, joined, &changes)
                continue
            } else if let other = try await named(item, joined) {
                try await change(other, by: item, joined, &changes)
                far = RecordReference(other.id, other.fields, of: joined.far)
            } else {
                far = try await create(item, joined, &changes)
            }
            guard case .fields(_, let pairs, false) = joined.relation else { continue }
            for pair in pairs where pair.near != table.keyField { fields[pair.near.text] = far[pair.far] }
        }
    }

    func lists(_ payload: EntityPayload, _ changes: inout ChangeSet) async throws {
        for navigation in payload.type.navigation where navigation.isCollection {
            guard let joined = join(navigation) else { continue }
            if let items = payload.listed[navigation.name] {
                let before = try await entities(joined)
                var kept: Set<RecordID> = []
                for item in items { kept.insert(try await put(item, joined, before, &changes)) }
                for other in before where !kept.contains(other.id) { try await part(other, joined, &changes) }
            } else if let items = payload.deltas[navigation.name] {
                let before = try await entities(joined)
                for item in items { try await apply(item, joined, before, &changes) }
            }
        }
    }

    /// One item of a delta.
    private func apply(
        _ item: WireValue, _ joined: Joined, _ before: [Record], _ changes: inout ChangeSet
    ) async throws {
        guard let removed = item["@removed"] ?? item["@odata.removed"] else {
            _ = try await put(item, joined, before, &changes)
            return
        }
        guard let other = try await named(item, joined), before.contains(where: { $0.id == other.id }) else { return }
        guard removed["reason"]?.stringValue == "deleted" else { return try await part(other, joined, &changes) }
        changes.add(RecordChange(joined.far.entity, .delete(other.id)))
    }

    /// Makes an item one of the list; which one it is.
    private func put(
        _ item: WireValue, _ joined: Joined, _ before: [Record], _ changes: inout ChangeSet
    ) async throws -> RecordID {
        guard let other = try await named(item, joined) else {
            let created = try await create(item, joined, &changes)
            if case .links = joined.relation { update.links.link(known, to: created, by: joined.relation, &changes) }
            return created.id
        }
        try await change(other, by: item, joined, &changes)
        if !before.contains(where: { $0.id == other.id }) {
            let far = RecordReference(other.id, other.fields, of: joined.far)
            update.links.link(known, to: far, by: joined.relation, &changes)
        }
        return other.id
    }

    private func change(
        _ other: Record, by item: WireValue, _ joined: Joined, _ changes: inout ChangeSet
    ) async throws {
        guard depth < limits.insertDepth, changes.changes.count < limits.insertEntities else {
            throw PorticoError(.requestLimitExceeded, "Too many entities are nested in one request.")
        }
        // A reference alone changes nothing.
        guard item.dictionaryValue?.contains(where: { $0.key.first != "@" }) == true else { return }
        let declared = tables.model.structured(joined.far.type(of: other)) ?? joined.far.type
        let payload = try EntityPayload(item, of: joined.far, declared: declared, model: tables.model)
        try await update.change(
            other, of: joined.far, by: payload, replacing: isReplacing, if: .none, depth: depth + 1, &changes)
    }

    private func create(
        _ item: WireValue, _ joined: Joined, _ changes: inout ChangeSet
    ) async throws -> RecordReference {
        let payload = try EntityPayload(item, of: joined.far, declared: joined.type, model: tables.model)
        return try await update.creation.create(
            payload, in: joined.far, given: given(joined), depth: depth + 1, &changes)
    }

    /// Parts an entity from this one; one that cannot be without it goes.
    private func part(_ other: Record, _ joined: Joined, _ changes: inout ChangeSet) async throws {
        if case .fields(_, let pairs, _) = joined.relation {
            let isNullable = pairs.allSatisfy { pair in
                joined.far.columns.values.first { $0.field == pair.far }?.type.isNullable == true
            }
            // The rules of its set see to what goes with it.
            guard isNullable else { return changes.add(RecordChange(joined.far.entity, .delete(other.id))) }
        }
        let far = RecordReference(other.id, other.fields, of: joined.far)
        update.links.unlink(known, from: far, by: joined.relation, &changes)
    }

    private var limits: ServiceLimits { update.creation.limits }
}

/// Where a navigation property leads.
private struct Joined {
    let name: String
    let relation: RecordRelation
    let far: RecordTable
    let type: StructuredType
}

extension NestedChanges {
    private func join(_ navigation: NavigationProperty) -> Joined? {
        guard let relation = table.relations[navigation.name], let far = tables[relation.target] else { return nil }
        let type = tables.model.structured(navigation.target) ?? far.type
        return Joined(name: navigation.name, relation: relation, far: far, type: type)
    }

    /// The entities that are linked now.
    private func entities(_ joined: Joined) async throws -> [Record] {
        let finder = RecordFinder(tables: tables, records: update.records)
        guard let filter = try await finder.filter(of: joined.relation, from: record, table) else { return [] }
        let page = try await update.records.query(
            Query(filter, limit: Query.maximumLimit), in: joined.far.entity)
        guard page.next == nil else {
            throw PorticoError(.requestLimitExceeded, "\(joined.name) has too many entities for one change.")
        }
        return page.records
    }

    /// What the relation fixes in the far entities; nothing where this entity holds what it goes by.
    private func given(_ joined: Joined) -> [FieldName: WireValue] {
        guard case .fields(_, let pairs, let isCollection) = joined.relation,
            isCollection || pairs.allSatisfy({ $0.near == table.keyField })
        else { return [:] }
        return EntityLinks.given(by: joined.relation, from: known)
    }

    /// The entity that an item names, by its address or by its key. Throws where an address leads nowhere.
    private func named(_ item: WireValue, _ joined: Joined) async throws -> Record? {
        guard let id = try key(item, joined) else { return nil }
        let record = try await update.records.record(id, in: joined.far.entity)
        if record == nil, Self.address(item) != nil {
            throw PorticoError(
                .requestInvalid, "\(joined.name) names an entity that is not there.", target: joined.name)
        }
        return record
    }

    private func key(_ item: WireValue, _ joined: Joined) throws -> RecordID? {
        if let address = Self.address(item) {
            guard let entityPath = try? update.links.entityPath(at: address),
                entityPath.table.entity == joined.far.entity,
                case .key(let id) = entityPath.origin
            else {
                throw PorticoError(.requestInvalid, "This is no address of an entity.", target: joined.name)
            }
            return id
        }
        let payload = try EntityPayload(item, of: joined.far, declared: joined.type, model: tables.model)
        var fields = WireDictionary()
        for (field, value) in given(joined) { fields[field.text] = value }
        for name in joined.far.keyNames {
            guard let column = joined.far.columns[name] else { continue }
            if let value = payload.values[name] { fields[column.field.text] = value }
            guard fields[column.field.text] != nil else { return nil }
        }
        return joined.far.recordID(fields: fields, form: StoredValueCodec(model: tables.model))
    }

    private static func address(_ item: WireValue) -> String? { (item["@odata.id"] ?? item["@id"])?.stringValue }
}
