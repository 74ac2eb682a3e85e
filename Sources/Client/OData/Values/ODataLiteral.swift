import Foundation

/// A value within an address.
public enum ODataLiteral: Sendable, Equatable {
    case null
    case bool(Bool)
    /// Of 32 bits or fewer.
    case int(Int64)
    case int64(Int64)
    case decimal(Decimal)
    case double(Double)
    case single(Float)
    case string(String)
    case guid(UUID)
    case date(ODataDate)
    case dateTime(ODataDateTime)
    case localDateTime(ODataLocalDateTime)
    case timeOfDay(ODataTimeOfDay)
    case duration(Duration)
    case binary([UInt8])
    case enumeration(type: String, text: String)
}

/// How literals are written. Whatever a value holds stays within its literal: text stands in quotes, with its own quotes
/// doubled, and of every other value nothing but digits, letters and fixed signs is written.
extension ODataLiteral {
    func text(_ version: ODataVersion) -> String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .int64(let number): version == .v2 ? "\(number)L" : String(number)
        case .decimal(let number): number.plainText + (version == .v2 ? "M" : "")
        case .double(let number): Self.floating(number, "\(number)", version == .v2 ? "d" : "")
        case .single(let number): Self.floating(Double(number), "\(number)", version == .v2 ? "f" : "")
        case .string(let text): Self.quoted(text)
        case .guid(let id): version == .v2 ? "guid'\(id.uuidString.lowercased())'" : id.uuidString.lowercased()
        case .date(let date): version == .v2 ? "datetime'\(date.text)T00:00:00'" : date.text
        case .dateTime(let time): version == .v2 ? "datetimeoffset'\(time.text)'" : time.text
        case .localDateTime(let time): version == .v2 ? "datetime'\(time.text)'" : time.text + "Z"
        case .timeOfDay(let time): version == .v2 ? "time'\(time.durationText)'" : time.text
        case .duration(let time): (version == .v2 ? "time" : "duration") + "'\(time.isoText)'"
        case .binary(let bytes): Self.binary(bytes, version)
        case .enumeration(let type, let text):
            version == .v2 ? Self.quoted(text) : type + Self.quoted(text)
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.unicodeScalars.reduce(into: "") { $0 += $1 == "'" ? "''" : String($1) } + "'"
    }

    private static func floating(_ number: Double, _ text: String, _ suffix: String) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-INF" : "INF" }
        return text + suffix
    }

    private static func binary(_ bytes: [UInt8], _ version: ODataVersion) -> String {
        if version == .v2 { return "X'" + bytes.map { String(format: "%02X", $0) }.joined() + "'" }
        let text = Data(bytes).base64EncodedString()
        return "binary'" + text.replacing("+", with: "-").replacing("/", with: "_") + "'"
    }
}

/// The versions of the protocol that a service may speak.
public enum ODataVersion: Sendable, Equatable {
    case v2
    case v4
}
