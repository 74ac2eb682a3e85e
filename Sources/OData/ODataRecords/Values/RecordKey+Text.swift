import AdapterKit
import Foundation
import ODataModel

extension RecordTable {
    /// The record of the entity with these key values (stored form, by property). Nil where a part is missing or cannot
    /// be a key.
    public func recordID(key values: [String: WireValue], form: StoredForm) -> RecordID? {
        switch key {
        case .fixed(let text): return RecordID(text)
        case .property(let name): return values[name].flatMap { RecordID(key: $0) }
        case .joined(let names):
            var parts: [String] = []
            for name in names {
                guard let value = values[name], let type = keyType(name),
                    let text = form.text(of: value, type: type)
                else { return nil }
                parts.append(Self.escaped(text))
            }
            return RecordID(parts.joined(separator: ","))
        }
    }

    /// The same of a record's or an entity's fields.
    public func recordID(fields: WireDictionary, form: StoredForm) -> RecordID? {
        var values: [String: WireValue] = [:]
        for name in keyNames { values[name] = columns[name].flatMap { fields[$0.field.text] } }
        return recordID(key: values, form: form)
    }

    /// The key properties' fields in the record with this id, as far as the id tells them: also of one that is gone.
    public func keyFields(of id: RecordID, form: StoredForm) -> WireDictionary {
        var fields = WireDictionary()
        switch key {
        case .fixed: break
        case .property: fields[keyField.text] = keyValue(of: id)
        case .joined(let names):
            let parts = id.text.split(separator: ",", omittingEmptySubsequences: false)
            for (name, part) in zip(names, parts) {
                guard let column = columns[name] else { continue }
                let text = part.removingPercentEncoding ?? String(part)
                fields[column.field.text] = form.value(text: text, type: column.type) ?? .string(text)
            }
        }
        return fields
    }

    /// The key properties, in order.
    public var keyNames: [String] {
        switch key {
        case .property(let name): [name]
        case .joined(let names): names
        case .fixed: type.key.map { $0.path.joined(separator: "/") }
        }
    }

    public func keyType(_ name: String) -> TypeReference? { columns[name]?.type }

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x2C || $0 == 0x25 }) else { return text }
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte < 0x20 || byte == 0x7F || byte == 0x2C || byte == 0x25 {
                output += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
