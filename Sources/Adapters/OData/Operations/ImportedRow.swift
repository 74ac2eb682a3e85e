import AdapterKit
import ODataModel
import ODataRecords

/// A row of a file whose values are all texts, as CSV has them: each is taken for what its property is.
///
/// Besides OData's own texts it reads those in which SQLite keeps dates and Booleans, which have no types there
/// (https://www.sqlite.org/lang_datefunc.html): `2024-01-15 10:20:30`, in UTC, and `1` and `0`.
struct ImportedRow {
    let model: EntityDataModel

    func typed(_ row: WireValue, _ type: StructuredType) -> WireValue {
        guard case .dictionary(let members) = row else { return row }
        let typed = members.map { member in
            WireDictionary.Entry(
                key: member.key,
                value: type.property(member.key).map { value(member.value, $0.type) } ?? member.value)
        }
        return .dictionary(WireDictionary(uncheckedUniqueKeys: typed))
    }

    /// What was refused, with the value and the form that was wanted.
    func explained(_ error: PorticoError, _ row: WireValue, _ table: RecordTable) -> PorticoError {
        guard let target = error.target, let column = table.columns[target], let value = row[target],
            let wanted = wanted(column.type)
        else { return error }
        return PorticoError(
            error.code, "\(error.message) It cannot be \(Self.shown(value)); wanted is \(wanted).", target: target)
    }

    /// What of a value is shown: enough to find it.
    private static let shownCharacters = 60

    private static func shown(_ value: WireValue) -> String {
        switch value {
        case .string(let text):
            "\"\(text.unicodeScalars.prefix(shownCharacters).map(shown).joined())\""
                + (text.unicodeScalars.count > shownCharacters ? "…" : "")
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        case .null: "null"
        case .array: "a list"
        case .dictionary: "an object"
        default: "a value of another type"
        }
    }

    /// What no terminal may take for a command, and no format can carry, by its number.
    private static func shown(_ scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0xFFFE, 0xFFFF: "\\u{\(String(scalar.value, radix: 16))}"
        default: String(Character(scalar))
        }
    }

    func value(_ value: WireValue, _ type: TypeReference) -> WireValue {
        guard !type.isCollection, let primitive = model.primitive(behind: type.type) else { return value }
        if primitive == .boolean, let number = value.int64Value, case .int64 = value {
            return number == 1 ? true : number == 0 ? false : value
        }
        guard case .string(let text) = value else { return value }
        switch primitive {
        case .boolean: return Self.boolean(text) ?? value
        case .byte, .sByte, .int16, .int32, .int64: return Int64(text).map(WireValue.int64) ?? value
        case .double, .single: return Double(text).map(WireValue.double) ?? value
        case .date: return Self.date(text).map(WireValue.string) ?? value
        case .dateTimeOffset: return Self.instant(text).map(WireValue.string) ?? value
        default: return value
        }
    }

    private static func boolean(_ text: String) -> WireValue? {
        switch text.lowercased() {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// A day with midnight after it.
    private static func date(_ text: String) -> String? {
        guard text.utf8.count > 10, let (day, time) = parts(text) else { return nil }
        let isMidnight = time.utf8.allSatisfy {
            $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
        return isMidnight && CalendarText.timeOfDay(time) != nil ? day : nil
    }

    /// A day, or a day and a time without an offset.
    private static func instant(_ text: String) -> String? {
        if CalendarText.date(text) != nil { return "\(text)T00:00:00Z" }
        guard let (day, time) = parts(text) else { return nil }
        if let plain = CalendarText.timeOfDay(time) { return "\(day)T\(plain)Z" }
        // With an offset, or `Z`, behind a blank.
        let whole = "\(day)T\(time)"
        return CalendarText.instant(whole) == nil ? nil : whole
    }

    private static func parts(_ text: String) -> (day: String, time: String)? {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == " " || $0 == "T" }
        guard parts.count == 2, CalendarText.date(String(parts[0])) != nil else { return nil }
        return (String(parts[0]), String(parts[1]))
    }

    /// In words; nil where the type's name says it all.
    private func wanted(_ type: TypeReference) -> String? {
        guard !type.isCollection else { return "a list" }
        if case .enumeration(let name) = type.type {
            let names = model.enumeration(name)?.members.prefix(20).map(\.name) ?? []
            return "one of \(names.joined(separator: ", "))"
        }
        guard let primitive = model.primitive(behind: type.type) else { return nil }
        if let range = primitive.integerRange {
            return "a whole number from \(range.lowerBound) to \(range.upperBound)"
        }
        switch primitive {
        case .boolean: return "true, false, 1 or 0"
        case .date: return "a day such as 2024-01-15"
        case .dateTimeOffset: return "an instant such as 2024-01-15T10:20:30Z or 2024-01-15 10:20:30"
        case .timeOfDay: return "a time such as 10:20:30"
        case .duration: return "a duration such as P1DT2H30M"
        case .decimal: return "a decimal number such as 12.50"
        case .double, .single: return "a number such as 12.5 or 1e3"
        case .guid: return "a GUID such as 01234567-89ab-cdef-0123-456789abcdef"
        case .binary: return "bytes as base64url"
        case .string: return "a text\(type.facets.maximumLength.map { " of at most \($0) characters" } ?? "")"
        default: return primitive.isSpatial ? "a place in GeoJSON" : nil
        }
    }
}
