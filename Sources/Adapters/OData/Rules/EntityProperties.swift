import AdapterKit
import ODataModel
import ODataRecords

/// The fields of a set's records as properties of its entities: their values checked, those that are missing named.
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
