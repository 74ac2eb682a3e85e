import AdapterKit
import ODataEngine
import ODataModel

/// Validates the records of one set or singleton against the model.
struct SetRules: Sendable {
    let tables: ServiceTables
    let table: RecordTable
    /// The property that holds the simple name of the entity's type.
    let typeProperty: String?

    /// Records that may go or change with a deleted one.
    let deletedWith: Int
    /// Whether the truth is in another system: what belongs together, and what goes with an entity, is that system's to say.
    let isMirror: Bool

    private let properties: EntityProperties
    private let dependents: [Dependents]

    init(tables: ServiceTables, table: RecordTable, typeProperty: String?, deletedWith: Int, isMirror: Bool = false) {
        self.tables = tables
        self.table = table
        self.typeProperty = typeProperty
        self.deletedWith = deletedWith
        self.isMirror = isMirror
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
        if isMirror { return }
        try ReferenceRules(tables: tables, writing: writing).verify(record, of: table)
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
        if isMirror { addStructures(of: type, to: &fields) }
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

    /// Adds the structures without members that another system gives each entity: in its model a complex property of version 2 is
    /// never nullable, which asks no client to send it.
    private func addStructures(of type: StructuredType, to fields: inout WireDictionary) {
        for property in type.properties where !property.type.isNullable && !property.type.isCollection {
            guard case .complex = property.type.type, let column = table.columns[property.name],
                fields[column.field.text] == nil
            else { continue }
            fields[column.field.text] = .dictionary([:])
        }
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
        if isMirror { return PreparedChange(change) }
        var deletion = DeletionRun(tables: tables, snapshot: writing.snapshot, most: deletedWith)
        try deletion.part(record, of: table, dependents)
        return PreparedChange(change, after: try deletion.changes, askingCaller: true)
    }
}

/// Reads the fields of a set's records as properties: checks their values and reports missing ones.
struct EntityProperties: Sendable {
    private let model: EntityDataModel
    private let table: RecordTable
    /// Property names by field.
    private let names: [String: String]

    init(model: EntityDataModel, table: RecordTable) {
        self.model = model
        self.table = table
        names = Dictionary(table.columns.values.map { ($0.field.text, $0.property) }, uniquingKeysWith: { $1 })
    }

    /// The fields with the values of properties as records hold them: of their types, within their facets. What no
    /// property has (streams, the type's name) is as it was. Throws `request.invalid` with the property as the target.
    func checked(_ fields: WireDictionary, of type: StructuredType) throws(PorticoError) -> WireDictionary {
        let reader = ValueReader(model: model, takesStored: true)
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(fields.count)
        for member in fields {
            guard let name = names[member.key] else {
                entries.append(member)
                continue
            }
            var value = member.value
            if let property = type.property(name) {
                if try !isLeftOut(value, property) { value = try reader.value(value, property.type, at: name) }
            } else if !value.isNull {
                throw PorticoError(.requestInvalid, "\(type.name) has no property \(name).", target: name)
            }
            entries.append(WireDictionary.Entry(key: member.key, value: value))
        }
        return WireDictionary(uncheckedUniqueKeys: entries)
    }

    /// A null that stands for nothing at all: a key that the server chooses, a collection without items.
    private func isLeftOut(_ value: WireValue, _ property: StructuralProperty) throws(PorticoError) -> Bool {
        guard value.isNull else { return false }
        if property.type.isCollection || table.columns[property.name]?.field == table.keyField { return true }
        guard property.type.isNullable else {
            throw PorticoError(.requestInvalid, "\(property.name) cannot be null.", target: property.name)
        }
        return true
    }

    /// Throws `request.invalid` for a new entity that lacks what it must have.
    func require(_ type: StructuredType, _ fields: WireDictionary) throws(PorticoError) {
        for property in type.properties where !property.type.isNullable && !property.type.isCollection {
            guard let column = table.columns[property.name], property.defaultValue == nil,
                !property.annotations.isTagged(CoreTerm.computed),
                !(column.field == table.keyField || table.isSingleton), fields[column.field.text] == nil
            else { continue }
            throw PorticoError(.requestInvalid, "\(property.name) is missing.", target: property.name)
        }
    }

    func values(of fields: WireDictionary) -> [String: WireValue] {
        fields.reduce(into: [:]) { values, member in
            if let name = names[member.key] { values[name] = member.value }
        }
    }

    /// Sets the fields of properties to these values, and leaves those out that have none.
    func set(_ values: [String: WireValue], in fields: inout WireDictionary) {
        for column in table.columns.values { fields[column.field.text] = values[column.property] }
    }
}

/// Derives record ids from entity keys and rejects changes of a key.
struct KeyRules: Sendable {
    let tables: ServiceTables
    let table: RecordTable

    private var form: StoredValueCodec { StoredValueCodec(model: tables.model) }

    /// The creation under the key that its fields say, or one that is made up where it can be.
    func keyed(_ change: RecordChange, _ fields: WireDictionary, _ snapshot: any RecordSnapshot) throws -> RecordChange
    {
        var fields = fields
        let id = try id(change.recordID, &fields, snapshot)
        if let id, table.columns.values.allSatisfy({ $0.field != table.keyField }) {
            fields[table.keyField.text] = .string(id.text)
        }
        return change.creating(id, fields)
    }

    private func id(
        _ sent: RecordID?, _ fields: inout WireDictionary, _ snapshot: any RecordSnapshot
    ) throws -> RecordID? {
        switch table.key {
        case .fixed(let text): return try only(text, sent, fields)
        case .property(let name):
            guard let column = table.columns[name] else { return sent }
            if let sent { return try single(sent, column, &fields) }
            if fields[column.field.text]?.isNull ?? true { fields[column.field.text] = try made(column, snapshot) }
            return nil
        case .joined(let names):
            guard let id = table.recordID(fields: fields, form: form) else {
                throw PorticoError(.requestInvalid, "The key is missing.", target: names.first)
            }
            let said = sent?.text ?? fields[table.keyField.text]?.stringValue
            guard said == nil || said == id.text else {
                throw PorticoError(.requestInvalid, "The record's id is its key's parts: \(id).", target: names.first)
            }
            return id
        }
    }

    /// A singleton's record has one key, so that there is no second.
    private func only(_ text: String, _ sent: RecordID?, _ fields: WireDictionary) throws -> RecordID {
        let wanted = sent?.text ?? fields[table.keyField.text]?.stringValue ?? text
        guard wanted == text else {
            throw PorticoError(.accessDenied, "\(table.source) is one entity, with the id \(text).", target: "id")
        }
        return RecordID(unchecked: text)
    }

    /// The id that was sent is how the key's value is spelt, and no other.
    private func single(_ sent: RecordID, _ column: RecordColumn, _ fields: inout WireDictionary) throws -> RecordID {
        guard let value = form.value(text: sent.text, type: column.type), RecordID(key: value) == sent else {
            throw PorticoError(
                .requestInvalid, "`\(sent)` is no \(column.type) as keys are spelt.", target: column.property)
        }
        if fields[column.field.text]?.isNull ?? true { fields[column.field.text] = value }
        return sent
    }

    /// The next integer; nil where the store makes one up or the caller has to say it.
    private func made(_ column: RecordColumn, _ snapshot: any RecordSnapshot) throws -> WireValue? {
        guard tables.model.primitive(behind: column.type.type)?.isInteger == true else { return nil }
        let order = [SortKey(column.field, descending: true)]
        let last = try snapshot.query(Query(order: order, limit: 1), in: table.entity).records.first
        return .int64((last?[column.field].int64Value ?? 0) + 1)
    }

    /// Throws `request.invalid` where the fields would give the entity another key: a part of one is a field that the
    /// record's own key does not hold.
    func checkUnchanged(_ fields: WireDictionary, of record: Record) throws(PorticoError) {
        for name in table.keyNames {
            guard let column = table.columns[name], column.field != table.keyField,
                let sent = fields[column.field.text], sent != record[column.field]
            else { continue }
            throw PorticoError(.requestInvalid, "A key does not change.", target: name)
        }
    }
}

extension RecordChange {
    /// The creation under an id; nil leaves it to the store.
    fileprivate func creating(_ id: RecordID?, _ fields: WireDictionary) -> RecordChange {
        guard case .create = action else { return setting(fields) }
        return RecordChange(entity, .create(id, fields), if: condition)
    }
}

extension RecordTable {
    /// Whether the service makes the keys: the one property of the key is annotated with `Core.Computed`, and no text,
    /// which only a client can choose. A key that is sent is ignored.
    func makesKeys(_ model: EntityDataModel) -> Bool {
        guard case .property(let name) = key, let property = type.property(name),
            property.annotations.isTagged(CoreTerm.computed)
        else { return false }
        return model.primitive(behind: property.type.type) != .string
    }
}

/// Values that the server sets: computed properties on every write, and defaults for properties that were not sent.
///
/// A computed integer counts changes, from its default on. A computed instant is the time of creation, or, when its
/// name contains `Modified`, `Updated` or `Changed`, the time of the last change. A required instant that was not sent
/// is the current time.
struct ServerValues: Sendable {
    let tables: ServiceTables
    let now: WireDate

    func creating(_ type: StructuredType, _ values: [String: WireValue]) -> [String: WireValue] {
        var values = values
        for property in type.properties {
            let isComputed = property.annotations.isTagged(CoreTerm.computed)
            if isInstant(property), isComputed || (values[property.name] == nil && mustBeGiven(property)) {
                values[property.name] = time(of: property)
            } else if isCounter(property, of: type) {
                values[property.name] = standard(property) ?? .int64(1)
            } else if isComputed, !type.isKey(property.name) {
                values[property.name] = nil
            }
        }
        return values
    }

    /// Whether ``creating(_:_:)`` leaves every entity of the type as it was sent.
    func givesNothing(_ type: StructuredType) -> Bool {
        type.properties.allSatisfy { property in
            !property.annotations.isTagged(CoreTerm.computed) && !(isInstant(property) && mustBeGiven(property))
        }
    }

    /// For a change of an entity that is there: computed properties as they are, or as the change makes them.
    func computed(_ type: StructuredType, _ values: [String: WireValue], _ current: (String) -> WireValue)
        -> [String: WireValue]
    {
        var values = values
        for property in type.properties {
            let isComputed = property.annotations.isTagged(CoreTerm.computed)
            if isInstant(property), Self.speaksOfChange(property.name), isComputed || mustBeGiven(property) {
                values[property.name] = time(of: property)
            } else if isCounter(property, of: type) {
                values[property.name] = .int64((current(property.name).int64Value ?? 0) &+ 1)
            } else if isComputed {
                values[property.name] = nil
            }
        }
        return values
    }

    /// What of a change OData takes: values of properties that a client cannot change are ignored (Protocol 4.01,
    /// section 11.4.3), so that an entity can be sent back as it was read.
    static func changeable(_ type: StructuredType, _ values: [String: WireValue]) -> [String: WireValue] {
        values.filter { name, _ in
            guard let property = type.property(name) else { return true }
            return !property.annotations.isTagged(CoreTerm.computed)
                && !property.annotations.isTagged(CoreTerm.immutable) && !type.isKey(name)
        }
    }

    /// Those that a replacement keeps.
    func kept(_ type: StructuredType) -> [String] {
        type.properties.filter {
            $0.annotations.isTagged(CoreTerm.computed) || $0.annotations.isTagged(CoreTerm.immutable)
                || type.isKey($0.name) || (isInstant($0) && mustBeGiven($0))
        }.map(\.name)
    }

    /// Cut to the property's precision.
    private func time(of property: StructuralProperty) -> WireValue {
        var facets = property.type.facets
        if case .definition(let name) = property.type.type, let outer = tables.model.definition(name)?.facets {
            facets = facets.within(outer)
        }
        return .date(facets.precision.map { now.cut(toFractionDigits: $0) } ?? now)
    }

    private func isInstant(_ property: StructuralProperty) -> Bool {
        !property.type.isCollection && tables.model.primitive(behind: property.type.type) == .dateTimeOffset
    }

    private func isCounter(_ property: StructuralProperty, of type: StructuredType) -> Bool {
        !type.isKey(property.name) && property.annotations.isTagged(CoreTerm.computed) && !property.type.isCollection
            && tables.model.primitive(behind: property.type.type)?.isInteger == true
    }

    private func mustBeGiven(_ property: StructuralProperty) -> Bool {
        !property.type.isNullable && property.defaultValue == nil
    }

    private func standard(_ property: StructuralProperty) -> WireValue? {
        property.defaultValue.flatMap { StoredValueCodec(model: tables.model).value(text: $0, type: property.type) }
    }

    private static func speaksOfChange(_ name: String) -> Bool {
        ["Modified", "Updated", "Changed"].contains { name.contains($0) }
    }
}
