import AdapterKit
import ODataModel

/// Stored values (``FieldShapes`` has the table) as version 2's texts, and such texts as stored values: in URLs, in JSON,
/// in XML ([MS-ODATA], sections 2.2.2, 2.2.6.2.2 and 2.2.6.3.1).
///
/// | type | URL | JSON | XML, `$value` |
/// |---|---|---|---|
/// | Binary | `X'0AFF'` | `"Cv8="` | `Cv8=` |
/// | Boolean, Byte, SByte, Int16, Int32 | `true`, `1` | `true`, `1` | `true`, `1` |
/// | Int64, Decimal | `1L`, `1.5M` | `"1"`, `"1.5"` | `1`, `1.5` |
/// | Double, Single | `1.5d`, `1.5f` | `1.5`, `"INF"` | `1.5`, `INF` |
/// | DateTime | `datetime'2024-01-15T10:30:00'` | `"/Date(1705314600000)/"` | `2024-01-15T10:30:00` |
/// | DateTimeOffset | `datetimeoffset'2024-01-15T10:30:00Z'` | `"/Date(1705314600000+0000)/"` | `2024-01-15T10:30:00Z` |
/// | Guid | `guid'…'` | text | text |
/// | String | `'it''s'` | text | text |
/// | Time | `time'PT10H30M00S'` | `"PT10H30M00S"` | `PT10H30M00S` |
///
/// A day is an instant at its midnight in UTC. Enumerations are their members' names, durations their texts. Complex
/// values, and what ``Version2Shape/document`` stands for, are none of this type's.
public struct Version2Form: Sendable {
    public let model: EntityDataModel
    var stored: StoredForm { StoredForm(model: model) }

    public init(model: EntityDataModel) {
        self.model = model
    }

    /// Nil for what is not simple.
    func simple(_ type: TypeReference) -> Version2Type? {
        if case .simple(let simple) = model.version2Shape(of: type) { simple } else { nil }
    }

    /// In XML, and as `$value`. Nil for null, and for what is not simple.
    public func text(of value: WireValue, _ type: TypeReference) -> String? {
        simple(type).flatMap { text(of: value, as: $0, type) }
    }

    /// The same where the type's own in version 2 is known already, as it is for all rows of a feed.
    public func text(of value: WireValue, as simple: Version2Type, _ type: TypeReference) -> String? {
        guard !value.isNull else { return nil }
        switch simple {
        case .dateTime: return Version2Instant.text(value)
        case .time: return value.stringValue.flatMap { Version2Time.text(timeOfDay: $0) }
        case .binary: return value.dataValue.map { String(decoding: Base64.encode($0), as: UTF8.self) }
        case .decimal: return value.decimalValue.map(Self.plain)
        default: return stored.text(of: value, type: type)
        }
    }

    /// The value of XML's text. Nil for what is none of the type's.
    public func value(text: String, _ type: TypeReference) -> WireValue? {
        guard let simple = simple(type) else { return nil }
        switch simple {
        case .dateTime, .dateTimeOffset:
            guard let instant = Version2Instant.value(text: text) else { return nil }
            return self.value(instant: instant, type)
        case .time: return Version2Time.timeOfDay(text).map(WireValue.string)
        case .binary: return Base64.decode(text.filter { !$0.isWhitespace }).map(WireValue.data)
        case .boolean: return text == "1" ? true : text == "0" ? false : stored.value(text: text, type: type)
        default: return stored.value(text: text, type: type)
        }
    }

    /// Without an exponent, which version 2's decimals lack.
    private static func plain(_ number: WireDecimal) -> String {
        guard number.exponent > 0, number.exponent < 1_000 else { return number.description }
        return (number.isNegative ? "-" : "") + number.digits + String(repeating: "0", count: number.exponent)
    }

    /// An instant as the property holds it. Nil where it holds days and this is not the beginning of one.
    func value(instant: WireDate, _ type: TypeReference) -> WireValue? {
        guard model.primitive(behind: type.type) == .date else { return .date(instant) }
        guard let text = instant.rfc3339, text.hasSuffix("T00:00:00Z") else { return nil }
        return .string(String(text.prefix(10)))
    }
}
