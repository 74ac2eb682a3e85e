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
public struct Version2ValueCodec: Sendable {
    public let model: EntityDataModel
    var stored: StoredValueCodec { StoredValueCodec(model: model) }

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

/// A primitive value as version 2's JSON has it.
public enum Version2JSON: Sendable, Hashable {
    /// A number, `true`, `false` or `null`, as it stands.
    case plain(String)
    /// Within quotes.
    case text(String)
}

extension Version2ValueCodec {
    /// Nil for what is not simple.
    public func json(_ value: WireValue, _ type: TypeReference) -> Version2JSON? {
        simple(type).flatMap { json(value, as: $0, type) }
    }

    /// The same where the type's own in version 2 is known already, as it is for all rows of a feed.
    public func json(_ value: WireValue, as simple: Version2Type, _ type: TypeReference) -> Version2JSON? {
        guard !value.isNull else { return .plain("null") }
        switch simple {
        case .dateTime: return Version2Instant.ticks(value).map { .text("/Date(\($0))/") }
        case .dateTimeOffset: return Version2Instant.ticks(value).map { .text("/Date(\($0)+0000)/") }
        case .boolean, .byte, .sByte, .int16, .int32: return text(of: value, as: simple, type).map(Version2JSON.plain)
        case .double, .single:
            guard let text = text(of: value, as: simple, type) else { return nil }
            return value.doubleValue?.isFinite == false ? .text(text) : .plain(text)
        default: return text(of: value, as: simple, type).map(Version2JSON.text)
        }
    }

    /// The value of JSON's. Numbers come as texts too, instants as XML has them. Nil for what is none of the type's, and
    /// for null.
    public func value(json: WireValue, _ type: TypeReference) -> WireValue? {
        if let text = json.stringValue {
            if let instant = Version2Instant.value(ticks: text) {
                guard let simple = simple(type), simple == .dateTime || simple == .dateTimeOffset else {
                    return simple(type) == .string ? value(text: text, type) : nil
                }
                return value(instant: instant, type)
            }
            return value(text: text, type)
        }
        if case .bool(let flag) = json { return simple(type) == .boolean ? .bool(flag) : nil }
        guard let number = json.decimalValue, let simple = simple(type), Self.numbers.contains(simple) else {
            return nil
        }
        let isWhole = model.primitive(behind: type.type)?.isInteger == true
        let text = isWhole ? json.int64Value.map { String($0) } ?? Self.whole(json) : number.description
        return text.flatMap { stored.value(text: $0, type: type) }
    }

    /// `2.0` where JSON's reader made a double of it.
    private static func whole(_ json: WireValue) -> String? {
        guard case .double(let number) = json else { return nil }
        return Int64(exactly: number).map { String($0) }
    }

    private static let numbers: Set<Version2Type> = [
        .byte, .sByte, .int16, .int32, .int64, .decimal, .double, .single,
    ]
}

extension Version2ValueCodec {
    /// As URLs have it, not percent-encoded. Nil for what is not simple.
    public func literal(_ value: WireValue, _ type: TypeReference) -> String? {
        guard let simple = simple(type) else { return nil }
        guard !value.isNull else { return "null" }
        if simple == .int32, case .int64(let number) = value { return String(number) }
        if simple == .binary { return value.dataValue.map { "X'\(Hexadecimal.text($0).uppercased())'" } }
        guard let text = text(of: value, as: simple, type) else { return nil }
        switch simple {
        case .string: return "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
        case .guid: return "guid'\(text)'"
        case .dateTime: return "datetime'\(text)'"
        case .dateTimeOffset: return "datetimeoffset'\(text)'"
        case .time: return "time'\(text)'"
        case .int64: return "\(text)L"
        case .decimal: return "\(text)M"
        case .double: return value.doubleValue?.isFinite == false ? text : "\(text)d"
        case .single: return value.doubleValue?.isFinite == false ? text : "\(text)f"
        default: return text
        }
    }
}

/// Converts instants to version 2's three spellings and back. A stored instant is a date, a stored day is a text.
enum Version2Instant {
    static func instant(_ stored: WireValue) -> WireDate? {
        switch stored {
        case .date(let instant): instant
        case .string(let day): WireDate(rfc3339: "\(day)T00:00:00Z")
        default: nil
        }
    }

    /// Without an offset.
    static func text(_ stored: WireValue) -> String? {
        if case .string(let day) = stored { return "\(day)T00:00:00" }
        return instant(stored)?.rfc3339.map { String($0.dropLast()) }
    }

    /// An offset, and seconds, may be left out; without an offset it is UTC.
    static func value(text: String) -> WireDate? {
        if let instant = CalendarText.instant(text) { return instant }
        return CalendarText.instant("\(text)Z")
    }

    /// Milliseconds since 1970 within `/Date(…)/`; a millisecond's parts are left out.
    static func ticks(_ stored: WireValue) -> Int64? {
        guard let instant = instant(stored), instant.isInCalendar else { return nil }
        let (quotient, remainder) = instant.ticks.quotientAndRemainder(dividingBy: ticksPerMillisecond)
        return (remainder < 0 ? quotient - 1 : quotient) + Int64(WireDate.unixEpochOffset) * 1_000
    }

    /// The instant of `/Date(1705314600000+0060)/`. The offset, in minutes, does not change the instant.
    static func value(ticks text: String) -> WireDate? {
        guard text.hasPrefix("/Date("), text.hasSuffix(")/") else { return nil }
        let inner = text.dropFirst(6).dropLast(2)
        guard let first = inner.first else { return nil }
        let number = String(first) + inner.dropFirst().prefix { $0 != "+" && $0 != "-" }
        let offset = inner.dropFirst(number.count)
        guard offset.isEmpty || Int(offset) != nil, let milliseconds = Int64(number),
            milliseconds.magnitude < 400_000_000_000_000
        else { return nil }
        return WireDate(ticks: (milliseconds - Int64(WireDate.unixEpochOffset) * 1_000) * ticksPerMillisecond)
    }

    private static let ticksPerMillisecond = WireDate.ticksPerSecond / 1_000
}
