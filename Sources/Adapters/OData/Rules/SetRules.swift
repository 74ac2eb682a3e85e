import AdapterKit
import ODataModel
import ODataRecords

/// What a model demands of the records of one set or singleton.
struct SetRules: Sendable {
    let tables: ServiceTables
    let table: RecordTable
    /// The property that holds the simple name of the entity's type.
    let typeProperty: String?

    /// Records that may go or change with a deleted one.
    let deletedWith: Int

    private let properties: EntityProperties
    private let dependents: [Dependents]

    init(tables: ServiceTables, table: RecordTable, typeProperty: String?, deletedWith: Int) {
        self.tables = tables
        self.table = table
        self.typeProperty = typeProperty
        self.deletedWith = deletedWith
        properties = EntityProperties(model: tables.model, table: table)
        dependents = Dependents.all(of: table, in: tables)
    }

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        switch (change.action, record) {
        case (.delete, let record?): try deletion(change, of: record, in: writing)
        case (.replace, let record?): PreparedChange(try self.change(change, of: record, replacing: true, writing))
        case (.update, let record?): PreparedChange(try self.change(change, of: record, replacing: false, writing))
        default: PreparedChange(try creation(change, in: writing))
        }
    }

    func verify(_ record: Record, in writing: RecordRuleContext) throws {
        try ReferenceRules(tables: tables, snapshot: writing.snapshot).verify(record, of: table)
    }

    private func allow(_ action: SetCapabilities.Action) throws(PorticoError) {
        guard SetCapabilities(table, of: tables.model).allow(action) else {
            throw PorticoError(.accessDenied, "\(table.source) \(action.refusal).", target: table.source)
        }
    }

    // MARK: Creating

    private func creation(_ change: RecordChange, in writing: RecordRuleContext) throws -> RecordChange {
        try allow(.insert)
        let type = try newType(change.fields)
        var fields = settable(try properties.checked(change.fields, of: type))
        if let discriminator = table.discriminator { fields[discriminator.text] = .string(type.name.description) }
        tell(type, always: true, &fields)
        let server = ServerValues(tables: tables, now: writing.now)
        properties.set(server.creating(type, properties.values(of: fields)), in: &fields)
        try properties.require(type, fields)
        return try KeyRules(tables: tables, table: table).keyed(change, fields, writing.snapshot)
    }

    /// Without what a new entity cannot be given, as with what is computed.
    private func settable(_ fields: WireDictionary) -> WireDictionary {
        let excluded = tables.model.restrictions(of: table.source).nonInsertable
            .compactMap { table.columns[$0]?.field.text }
        guard !excluded.isEmpty else { return fields }
        return WireDictionary(uncheckedUniqueKeys: fields.filter { !excluded.contains($0.key) }.map { $0 })
    }

    private func newType(_ fields: WireDictionary) throws(PorticoError) -> StructuredType {
        var name = table.type.name
        if let sent = table.discriminator.flatMap({ fields[$0.text]?.stringValue }) {
            guard let found = table.family.first(where: { $0.description == sent }) else {
                throw PorticoError(.requestInvalid, "\(sent) is no type of \(table.source).", target: sent)
            }
            name = found
        } else if let sent = typeColumn.flatMap({ fields[$0.field.text]?.stringValue }),
            let found = table.family.first(where: { $0.name == sent })
        {
            name = found
        }
        guard let type = tables.model.structured(name), !type.isAbstract else {
            throw PorticoError(.requestInvalid, "\(name) is abstract.", target: "@odata.type")
        }
        return type
    }

    private var typeColumn: RecordColumn? { typeProperty.flatMap { table.columns[$0] } }

    /// The type's simple name in the property that holds it.
    private func tell(_ type: StructuredType, always: Bool, _ fields: inout WireDictionary) {
        guard let column = typeColumn, always || fields[column.field.text] != nil else { return }
        fields[column.field.text] = .string(type.name.name)
    }

    // MARK: Changing

    private func change(
        _ change: RecordChange, of record: Record, replacing: Bool, _ writing: RecordRuleContext
    ) throws -> RecordChange {
        try allow(.update)
        let type = tables.model.structured(table.type(of: record)) ?? table.type
        if let discriminator = table.discriminator, let sent = change.fields[discriminator.text], !sent.isNull,
            sent != record[discriminator]
        {
            throw PorticoError(.requestInvalid, "An entity's type does not change.", target: discriminator.text)
        }
        var fields = try properties.checked(change.fields, of: type)
        try KeyRules(tables: tables, table: table).checkUnchanged(fields, of: record)
        let server = ServerValues(tables: tables, now: writing.now)
        properties.set(
            server.computed(type, properties.values(of: fields)) { name in
                table.columns[name].map { record[$0.field] } ?? .null
            }, in: &fields)
        if replacing {
            keep(record, server.kept(type), &fields)
            try properties.require(type, fields)
        }
        tell(type, always: replacing, &fields)
        return change.setting(fields)
    }

    /// What a replacement leaves as it is where it does not say it.
    private func keep(_ record: Record, _ names: [String], _ fields: inout WireDictionary) {
        let kept = names.compactMap { table.columns[$0]?.field } + [table.discriminator].compactMap { $0 }
        for field in kept where field != table.keyField && fields[field.text] == nil {
            fields[field.text] = record[field]
        }
    }

    // MARK: Deleting

    private func deletion(
        _ change: RecordChange, of record: Record, in writing: RecordRuleContext
    ) throws -> PreparedChange {
        guard !table.isSingleton else {
            throw PorticoError(.accessDenied, "\(table.source) is a singleton and stays.", target: table.source)
        }
        try allow(.delete)
        var deletion = DeletionRun(tables: tables, snapshot: writing.snapshot, most: deletedWith)
        try deletion.part(record, of: table, dependents)
        return PreparedChange(change, after: try deletion.changes)
    }
}
