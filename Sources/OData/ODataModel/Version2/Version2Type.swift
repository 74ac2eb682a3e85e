/// The primitive types of OData 2.0 ([MS-ODATA], section 2.2.2). The raw value is the name without `Edm.`.
public enum Version2Type: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case binary = "Binary"
    case boolean = "Boolean"
    case byte = "Byte"
    case dateTime = "DateTime"
    case dateTimeOffset = "DateTimeOffset"
    case decimal = "Decimal"
    case double = "Double"
    case guid = "Guid"
    case int16 = "Int16"
    case int32 = "Int32"
    case int64 = "Int64"
    case sByte = "SByte"
    case single = "Single"
    case string = "String"
    case time = "Time"

    public var description: String { "Edm.\(rawValue)" }

    /// The type of a version 4 type's values; nil where it has none that could carry them. A day is an instant at its
    /// midnight, a duration its text.
    public init?(_ type: PrimitiveType, facets: Facets = Facets()) {
        switch type {
        case .date: self = .dateTime
        case .dateTimeOffset: self = facets.legacyType == "DateTime" ? .dateTime : .dateTimeOffset
        case .timeOfDay: self = .time
        case .duration, .string: self = .string
        case .binary: self = .binary
        case .boolean: self = .boolean
        case .byte: self = .byte
        case .decimal: self = .decimal
        case .double: self = .double
        case .guid: self = .guid
        case .int16: self = .int16
        case .int32: self = .int32
        case .int64: self = .int64
        case .sByte: self = .sByte
        case .single: self = .single
        default: return nil
        }
    }
}

/// The form in which version 2 writes a value that version 4 has a type for.
public enum Version2Shape: Sendable, Hashable {
    case simple(Version2Type)
    case complex(QualifiedName)
    /// Collections, places and values of no particular type: an `Edm.String` that holds version 4's JSON.
    case document

    /// For `Type` attributes.
    public var typeName: String {
        switch self {
        case .simple(let type): type.description
        case .complex(let name): name.description
        case .document: Version2Type.string.description
        }
    }
}

extension EntityDataModel {
    /// Enumerations are written as their members' names.
    public func version2Shape(of type: TypeReference) -> Version2Shape {
        guard !type.isCollection else { return .document }
        switch type.type {
        case .enumeration: return .simple(.string)
        case .complex(let name): return .complex(name)
        case .entity, .abstract: return .document
        case .primitive, .definition:
            let simple = primitive(behind: type.type).flatMap { Version2Type($0, facets: type.facets) }
            return simple.map(Version2Shape.simple) ?? .document
        }
    }
}

/// `Edm.Time` of version 2 is a time of day written as the time since midnight: `PT13H20M05S` ([MS-ODATA], section 2.2.2).
public enum Version2Time {
    /// `hh:mm:ss[.f]` as `PThhHmmMss[.f]S`, with two digits each, as SAP's services write it. Nil for what is no time.
    public static func text(timeOfDay text: some StringProtocol) -> String? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 2, parts[1].utf8.count == 2, parts[2].utf8.count >= 2 else {
            return nil
        }
        return "PT\(parts[0])H\(parts[1])M\(parts[2])S"
    }

    /// `hh:mm:ss[.f]`; nil for what is no duration of less than a day.
    public static func timeOfDay(_ text: some StringProtocol) -> String? {
        var rest = Substring(text).utf8
        guard rest.popFirst() == UInt8(ascii: "P"), rest.popFirst() == UInt8(ascii: "T"), !rest.isEmpty else {
            return nil
        }
        let hours = number(before: "H", &rest)
        let minutes = number(before: "M", &rest)
        let seconds = seconds(&rest)
        guard rest.isEmpty, hours < 24, minutes < 60, seconds.whole < 60 else { return nil }
        return "\(twoDigits(hours)):\(twoDigits(minutes)):\(twoDigits(seconds.whole))\(seconds.fraction)"
    }

    /// 0 where the next number is followed by another mark.
    private static func number(before mark: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Int {
        let digits = rest.prefix { $0 &- 0x30 < 10 }
        guard (1...9).contains(digits.count), digits.endIndex < rest.endIndex,
            rest[digits.endIndex] == UInt8(ascii: mark)
        else { return 0 }
        rest = rest[rest.index(after: digits.endIndex)...]
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// With the fraction as `.5`, without zeros at its end.
    private static func seconds(_ rest: inout Substring.UTF8View) -> (whole: Int, fraction: String) {
        guard rest.last == UInt8(ascii: "S") else { return (0, "") }
        let parts = rest.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ $0.allSatisfy { $0 &- 0x30 < 10 } && $0.count < 10 }),
            let whole = Int(String(decoding: parts[0], as: UTF8.self)), parts.last?.isEmpty == false
        else { return (0, "") }
        rest = rest[rest.endIndex...]
        var digits = parts.count > 1 ? Array(parts[1]) : []
        while digits.last == 0x30 { digits.removeLast() }
        return (whole, digits.isEmpty ? "" : ".\(String(decoding: digits, as: UTF8.self))")
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}
