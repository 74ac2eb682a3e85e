import AdapterKit
import CSV
import WireFormats

/// One field of a connected entity or operation: its name here, where it stands in a row of the other system, and its type.
struct FieldMapping: Sendable, Equatable {
    let name: FieldName
    let type: FieldType
    let from: DocumentPath
    let isRequired: Bool
    let summary: String

    /// The value in a row, in the field's type where it can be read as that and as it stands otherwise; nil: none is there.
    func value(in row: WireValue, _ format: DocumentFormat) -> WireValue? {
        from.value(in: row, isXML: format == .xml).map { type.decoded($0, format) }
    }
}

/// The type of a field, and how its values are written in the other system.
enum FieldType: Sendable, Equatable {
    case string(maximumLength: Int)
    case integer
    case number
    case decimal
    case boolean(BooleanForm)
    case date(DateForm)
    case choice([String])
    case strings

    static let names = ["string", "integer", "number", "decimal", "boolean", "date", "choice", "strings"]
    static let longestText = TextLimits.defaultMaximum
    /// The longest text of a key; a record's id has 255 bytes.
    static let longestKey = 255

    var shape: Shape {
        switch self {
        case .string(let maximumLength): .string(maximumLength: maximumLength)
        case .integer: .integer
        case .number: .double
        case .decimal: .decimal(scale: nil)
        case .boolean: .bool
        case .date: .date
        case .choice(let values): .choice(values)
        case .strings: .list(of: .string)
        }
    }

    var isText: Bool {
        switch self {
        case .string, .choice: true
        default: false
        }
    }

    /// A value of a document in this type; as it stands where it cannot be read so.
    func decoded(_ value: WireValue, _ format: DocumentFormat) -> WireValue {
        var value = format.hasTypes ? value : value.withoutAttributes
        if format == .xml, !isText, case .string(let text) = value { value = .string(text.trimmingXMLSpace) }
        if !format.hasTypes, case .string(let text) = value, text.isEmpty, !isText { return .null }
        return read(value) ?? value
    }

    private func read(_ value: WireValue) -> WireValue? {
        switch (self, value) {
        case (_, .null): return .null
        case (.string, .int64(let number)): return .string(String(number))
        case (.integer, .string(let text)): return Int64(text).map { .int64($0) }
        case (.integer, .double(let number)): return Int64(exactly: number).map { .int64($0) }
        case (.number, .string(let text)):
            return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        case (.decimal, .string(let text)): return WireDecimal(text).map { .decimal($0) }
        case (.boolean, .string("true")), (.boolean, .string("1")), (.boolean(.number), .int64(1)): return .bool(true)
        case (.boolean, .string("false")), (.boolean, .string("0")), (.boolean(.number), .int64(0)): return .bool(false)
        case (.date(let form), _): return form.decoded(value).map { .date($0) }
        case (.strings, .string): return .array([value])
        case (.strings, .array(let items)): return .array(items.map(\.withoutAttributes))
        default: return nil
        }
    }

    /// A value of this type as the other system writes it.
    func encoded(_ value: WireValue) -> WireValue {
        switch (self, value) {
        case (.date(let form), _): form.encoded(value)
        case (.boolean(.number), .bool(let flag)): .int64(flag ? 1 : 0)
        default: value
        }
    }
}

extension WireValue {
    /// The text of an XML element that has attributes.
    var withoutAttributes: WireValue {
        guard let members = dictionaryValue, members.entries.allSatisfy({ $0.key == "$" || $0.key.hasPrefix("@") })
        else { return self }
        guard let text = members["$"] else { return "" }
        return text.stringValue == nil ? self : text
    }
}

/// A form in which another system writes a truth value.
enum BooleanForm: String, Sendable, CaseIterable {
    /// `true` and `false`.
    case literal
    /// `1` and `0`.
    case number
}

/// A form in which another system writes an instant.
enum DateForm: String, Sendable, CaseIterable {
    /// `2026-11-23T08:00:00Z`, with any offset, also written without its colon.
    case rfc3339
    /// `2026-11-23`, midnight in UTC.
    case day
    /// Seconds since 1970.
    case unix
    /// Milliseconds since 1970.
    case unixMilliseconds

    func decoded(_ value: WireValue) -> WireDate? {
        if case .date(let instant) = value { return instant }
        switch self {
        case .rfc3339:
            guard let text = value.stringValue else { return nil }
            return WireDate(rfc3339: text) ?? WireDate(rfc3339: text.withColonInOffset)
        case .day:
            guard let text = value.stringValue, text.utf8.count == 10 else { return nil }
            return WireDate(rfc3339: text + "T00:00:00Z")
        case .unix: return Self.instant(value, digits: 0)
        case .unixMilliseconds: return Self.instant(value, digits: 3)
        }
    }

    func encoded(_ value: WireValue) -> WireValue {
        guard case .date(let instant) = value else { return value }
        switch self {
        case .rfc3339: return instant.rfc3339.map { .string($0) } ?? .null
        case .day: return instant.rfc3339.map { .string(String($0.prefix(10))) } ?? .null
        case .unix: return Self.number(instant, digits: 0)
        case .unixMilliseconds: return Self.number(instant, digits: 3)
        }
    }

    /// A number of seconds since 1970 times 10 to `digits`, exact: a double is its shortest digits.
    private static func instant(_ value: WireValue, digits: Int) -> WireDate? {
        guard let number = value.decimalValue ?? value.stringValue.flatMap({ WireDecimal($0) }),
            let instant = WireDate.unixEpoch.adding(decimalSeconds: number.shifted(by: -digits)), instant.isInCalendar
        else { return nil }
        return instant
    }

    /// An integer or a double where one is the same number, otherwise all digits.
    private static func number(_ instant: WireDate, digits: Int) -> WireValue {
        let number = instant.decimalSeconds(since: .unixEpoch).shifted(by: digits)
        return number.narrowed ?? .decimal(number)
    }
}

extension WireDate {
    /// Whether it is the beginning of a day in UTC.
    var isMidnight: Bool { fraction.isEmpty && wholeSecondsSinceReferenceDate.isMultiple(of: 86_400) }
}

extension String {
    /// `+0200` as `+02:00`.
    fileprivate var withColonInOffset: String {
        let bytes = Array(utf8)
        guard bytes.count > 5, [0x2b, 0x2d].contains(bytes[bytes.count - 5]) else { return self }
        return dropLast(2) + ":" + suffix(2)
    }
}

/// The format of another system's answers or of a file.
enum DocumentFormat: String, Sendable, CaseIterable {
    case json
    case xml
    case plist
    case csv

    /// Whether values have types; otherwise all are texts.
    var hasTypes: Bool { self == .json || self == .plist }

    var accept: String {
        switch self {
        case .json: "application/json"
        case .xml: "application/xml, text/xml"
        case .plist: "application/x-plist, application/xml"
        case .csv: "text/csv"
        }
    }

    /// Whether a body may have this media type; parameters aside.
    func isMediaType(_ type: String) -> Bool {
        let name = type.mediaTypeName
        return switch self {
        case .json: name == "application/json" || name.hasSuffix("+json") || name == "text/json"
        case .xml: name == "application/xml" || name == "text/xml" || name.hasSuffix("+xml") && !name.contains("xhtml")
        case .plist:
            [
                "application/x-plist", "application/x-apple-plist", "application/plist", "text/x-apple-plist+xml",
                "application/x-apple-binary-plist", "application/xml", "text/xml", "application/octet-stream",
            ].contains(name)
        case .csv: name == "text/csv"
        }
    }

    /// Limits of reading bodies: depth and number of values.
    private static let limits = ReadingLimits(depth: 64, duplicateKeys: .keepLast)

    /// Throws ``MirrorRefusal`` for bytes that are no such document.
    func read(_ bytes: [UInt8], separator: CSVSeparator = .comma) throws -> WireValue {
        do {
            switch self {
            case .json: return try JSONFormat().read(bytes, limits: Self.limits)
            case .xml: return try XMLFormat(untypedRoot: .named).read(bytes, limits: Self.limits)
            case .plist:
                return bytes.starts(with: "bplist".utf8)
                    ? try BinaryPropertyListFormat().read(bytes, limits: Self.limits)
                    : try XMLPropertyListFormat().read(bytes, limits: Self.limits)
            case .csv: return try CSVDocument.read(bytes, separator: separator)
            }
        } catch is WireFormatError {
            throw MirrorRefusal(.malformed, "it is no \(rawValue) document")
        }
    }
}
