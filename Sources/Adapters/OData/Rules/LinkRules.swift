import AdapterKit
import ODataModel
import ODataRecords

/// What a model demands of the records that keep which entities belong together.
struct LinkRules: Sendable {
    let tables: ServiceTables
    let link: LinkTable
    /// The fields whose entity is led to at most one other by these links, and whether it needs that one.
    private let single: [FieldName: NavigationProperty]

    init(tables: ServiceTables, link: LinkTable) {
        self.tables = tables
        self.link = link
        var single: [FieldName: NavigationProperty] = [:]
        for source in [link.source, link.target] {
            guard let table = tables[source] else { continue }
            for navigation in table.family.compactMap({ tables.model.structured($0) }).flatMap(\.navigation) {
                guard case .links(_, link.entity, let near, _, false)? = table.relations[navigation.name] else {
                    continue
                }
                single[near] = navigation
            }
        }
        self.single = single
    }

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        switch (change.action, record) {
        case (.delete, let record?):
            try checkRemoval(record, in: writing.snapshot)
            return PreparedChange(change)
        case (_, let record?):
            for field in [LinkTable.near, LinkTable.far] {
                guard let sent = change.fields[field.text], sent != record[field] else { continue }
                throw PorticoError(.requestInvalid, "A link does not change; make another.", target: field.text)
            }
            return PreparedChange(change)
        case (_, nil): return try creation(change, in: writing.snapshot)
        }
    }

    private func creation(_ change: RecordChange, in snapshot: any RecordSnapshot) throws -> PreparedChange {
        let near = try end(LinkTable.near, change.fields)
        let far = try end(LinkTable.far, change.fields)
        let pair = LinkTable.pair(near, far)
        let named = change.recordID?.text ?? change.fields[LinkTable.key.text]?.stringValue ?? pair
        guard named == pair, let id = RecordID(pair) else {
            throw PorticoError(.requestInvalid, "The id of this link is `\(pair)`.", target: LinkTable.key.text)
        }
        var fields = change.fields
        fields[LinkTable.key.text] = .string(pair)
        var prepared = change.setting(fields)
        if case .create = change.action {
            prepared = RecordChange(change.entity, .create(id, fields), if: change.condition)
        }
        return PreparedChange(prepared, after: try replaced(fields, in: snapshot))
    }

    private func end(_ field: FieldName, _ fields: WireDictionary) throws(PorticoError) -> RecordID {
        guard let id = fields[field.text].flatMap({ RecordID(key: $0) }) else {
            throw PorticoError(.requestInvalid, "\(field) is missing.", target: field.text)
        }
        return id
    }

    /// Links that give way to a new one, because there is at most one of their kind.
    private func replaced(_ fields: WireDictionary, in snapshot: any RecordSnapshot) throws -> [RecordChange] {
        try single.keys.sorted().flatMap { field in
            try snapshot.query(Query(.compare(field, .equal, fields[field.text] ?? .null)), in: link.entity).records.map
            {
                RecordChange(link.entity, .delete($0.id))
            }
        }
    }

    private func checkRemoval(_ record: Record, in snapshot: any RecordSnapshot) throws {
        for (field, navigation) in single where !navigation.isNullable {
            let isTheirs = Filter.compare(field, .equal, record[field])
            if try snapshot.count(isTheirs, in: link.entity) < 2 { throw ReferenceRules.missing(navigation) }
        }
    }

    /// Throws `request.invalid` where one of the two is not there.
    func verify(_ record: Record, in writing: RecordRuleContext) throws {
        for (field, source) in [(LinkTable.near, link.source), (LinkTable.far, link.target)] {
            guard let table = tables[source], let id = RecordID(key: record[field]) else { continue }
            guard try writing.snapshot.record(id, in: table.entity) != nil else {
                throw PorticoError(
                    .requestInvalid, "\(field) names an entity of \(source) that is not there.", target: field.text)
            }
        }
    }
}
