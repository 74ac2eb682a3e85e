import AdapterKit
import ODataModel
import ODataRecords

/// `sap-message`: what a caller should know of a request that went well, as JSON in a header field. Here it is which of
/// the values that were sent the server did not take: those that it computes itself, and those that do not change.
struct SAPMessage: Sendable {
    let tables: ServiceTables

    /// Nil where everything was taken. `content` is the body as version 4's JSON has it, `fields` are the record's after
    /// the request.
    func untaken(_ content: WireValue, of type: StructuredType, _ table: RecordTable, _ fields: WireDictionary)
        -> String?
    {
        guard let members = content.dictionaryValue else { return nil }
        let reader = ValueReader(model: tables.model)
        let names = members.keys.filter { name in
            guard let property = type.property(name), isServers(property, type, table),
                let column = table.columns[name],
                let sent = try? reader.value(members[name] ?? .null, property.type, at: name)
            else { return false }
            return sent != fields[column.field.text] ?? .null
        }
        return names.isEmpty ? nil : Self.text(names.sorted())
    }

    private func isServers(_ property: StructuralProperty, _ type: StructuredType, _ table: RecordTable) -> Bool {
        property.annotations.isTagged(CoreTerm.computed) || property.annotations.isTagged(CoreTerm.immutable)
            || type.isKey(property.name)
            || tables.model.restrictions(of: table.source).nonInsertable.contains(property.name)
    }

    private static func text(_ names: [String]) -> String {
        var output = JSONOutput(capacity: 256)
        message(names[0], more: names.dropFirst(), to: &output)
        // A header field has ASCII's characters only; JSON's escapes say the rest.
        return String(decoding: output.bytes, as: UTF8.self).unicodeScalars.map { scalar in
            scalar.isASCII ? String(scalar) : String(scalar).utf16.map(escape).joined()
        }.joined()
    }

    private static func message(_ name: String, more: ArraySlice<String>, to output: inout JSONOutput) {
        output.beginObject()
        output.member("code", "property.notTaken")
        output.member("message", "\(name) is the server's to set; what was sent is not taken.")
        output.member("severity", "warning")
        output.member("target", name)
        output.key("details")
        output.beginArray()
        for name in more { message(name, more: [], to: &output) }
        output.endArray()
        output.endObject()
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}
