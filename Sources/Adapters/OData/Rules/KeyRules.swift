import AdapterKit
import ODataModel
import ODataRecords

/// How the keys of entities become those of records, and that they stay.
struct KeyRules: Sendable {
    let tables: ServiceTables
    let table: RecordTable

    private var form: StoredForm { StoredForm(model: tables.model) }

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
