import AdapterKit
import ODataModel

extension ServiceTables {
    /// The declarations of the service's records. `rows` says which are seen and changed, `readers` and `writers` by whom
    /// at all; `searched` and `unique` name properties by set, `indexes` those of each further index.
    public func entities(
        rows: RowRules = .everyone, readers: Access? = nil, writers: Access?, policy: ConflictPolicy = .merge,
        searched: [String: [String]] = [:], unique: [String: [String]] = [:], indexes: [String: [[String]]] = [:]
    ) -> [Entity] {
        let rights = Rights(rows: rows, readers: readers, writers: writers)
        return sources.compactMap { tables[$0] }.map { table in
            entity(
                table, rights, policy: policy, searched: searched[table.source] ?? [],
                unique: unique[table.source] ?? [], declared: indexes[table.source] ?? [])
        } + links.map { link(declaration: $0, rights) }
    }

    /// Who may do what with the records.
    private struct Rights {
        let rows: RowRules
        let readers: Access?
        let writers: Access?
    }

    private func entity(
        _ table: RecordTable, _ rights: Rights, policy: ConflictPolicy, searched: [String], unique: [String],
        declared: [[String]]
    ) -> Entity {
        let rows = isReadOnly(table) ? RowRules(read: rights.rows.read, write: .nobody) : rights.rows
        let description = table.type.annotations[CoreTerm.description]?.stringValue
        return Entity(
            table.entity, summary: description ?? "\(table.source) of the service \(service).",
            key: EntityKey(table.keyField, chosenBy: chooser(table)), fields: fields(table),
            indexes: indexes(table, declared)
                + unique.compactMap { table.columns[$0].map { Index([$0.field], isUnique: true) } },
            searchFields: searched.compactMap { table.columns[$0]?.field }, attachments: [],
            historyFields: referring(table), rows: rows, readers: rights.readers, writers: rights.writers,
            conflictPolicy: policy)
    }

    /// By which its records belong to others: what tells whose they were.
    private func referring(_ table: RecordTable) -> [FieldName] {
        let fields = tables.values.flatMap(\.relations.values).flatMap { relation -> [FieldName] in
            guard case .fields(table.source, let pairs, _) = relation else { return [] }
            return pairs.map(\.far)
        }
        return Set(fields.filter { $0 != table.keyField }).sorted()
    }

    /// Whether the model's capabilities exclude every change of the set. Where they exclude some, the adapter's rules know
    /// which.
    private func isReadOnly(_ table: RecordTable) -> Bool {
        let annotations = model.container.entitySet(table.source)?.annotations
        let restrictions = [
            (CoreTerm.insertRestrictions, "Insertable"), (CoreTerm.updateRestrictions, "Updatable"),
            (CoreTerm.deleteRestrictions, "Deletable"),
        ]
        return restrictions.allSatisfy { annotations?[$0]?[$1]?.boolValue == false }
    }

    /// Only a text can be made up.
    private func chooser(_ table: RecordTable) -> EntityKey.Chooser {
        guard case .property(let name) = table.key, let type = table.columns[name]?.type.type else { return .caller }
        return model.primitive(behind: type) == .guid ? .either : .caller
    }

    private func fields(_ table: RecordTable) -> [Field] {
        var fields: [Field] = []
        if table.keyField == HiddenField.key {
            fields.append(Field(HiddenField.key, .string(maximumLength: 255), summary: "The key's parts."))
        }
        let shapes = FieldShapes(model: model)
        for type in table.family.compactMap({ model.structured($0) }) {
            for property in type.properties {
                guard let column = table.columns[property.name], !fields.contains(where: { $0.name == column.field })
                else { continue }
                fields.append(
                    shapes.field(
                        property, column, isKey: column.field == table.keyField,
                        isDerived: type.name != table.type.name))
            }
        }
        return fields + hidden(table)
    }

    private func hidden(_ table: RecordTable) -> [Field] {
        var fields: [Field] = []
        if let discriminator = table.discriminator {
            fields.append(
                Field(
                    discriminator, .choice(table.family.map(\.description)),
                    defaultValue: .string(table.type.name.description), summary: "The entity's type."))
        }
        for (_, stream) in table.streams.sorted(by: { $0.key < $1.key }) {
            fields.append(Field(stream.content, .data(maximumBytes: Self.maximumStreamBytes), isNullable: true))
            fields.append(Field(stream.mediaType, .string(maximumLength: 255), isNullable: true))
        }
        if let dynamic = table.dynamicField { fields.append(Field(dynamic, .any, isNullable: true)) }
        return fields
    }

    /// The largest stream that a record holds.
    public static let maximumStreamBytes = 16 << 20

    /// What relations look records up by, and what is declared besides; each once.
    private func indexes(_ table: RecordTable, _ declared: [[String]]) -> [Index] {
        let own = table.relations.values.compactMap { relation -> [FieldName]? in
            if case .fields(_, let pairs, _) = relation { pairs.map(\.near) } else { nil }
        }
        let further = declared.map { $0.compactMap { table.columns[$0]?.field } }
        let distinct = Set((own + further).filter { !$0.isEmpty && $0 != [table.keyField] })
        return distinct.sorted { $0.description < $1.description }.map { Index($0) }
    }

    private func link(declaration link: LinkTable, _ rights: Rights) -> Entity {
        Entity(
            link.entity, summary: "Which of \(link.source) lead to which of \(link.target).",
            key: EntityKey(LinkTable.key, chosenBy: .caller),
            fields: [
                Field(LinkTable.key, .string(maximumLength: 600)),
                Field(LinkTable.near, keyShape(link.source), isRequired: true),
                Field(LinkTable.far, keyShape(link.target), isRequired: true),
            ],
            indexes: [Index([LinkTable.near]), Index([LinkTable.far])], rows: rights.rows, readers: rights.readers,
            writers: rights.writers, conflictPolicy: .lastWriterWins)
    }

    private func keyShape(_ source: String) -> Shape {
        guard let table = tables[source], case .property(let name) = table.key, let column = table.columns[name] else {
            return .string(maximumLength: 255)
        }
        return FieldShapes(model: model).shape(column.type.item)
    }
}
