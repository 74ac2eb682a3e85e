import Foundation
import ValueTree

/// A Swift type that stands for a primitive type of OData.
public protocol ODataPrimitive: Sendable, Equatable {
    /// Nil for what is none of the type's. Versions differ in how JSON carries numbers and times; either is taken.
    init?(odata json: WireValue)
    /// As a constant of an expression.
    var literal: ODataLiteral { get }
    /// As the version's JSON has it.
    func json(_ version: ODataVersion) -> WireValue
}

extension Bool: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let flag = json.boolValue else { return nil }
        self = flag
    }
    public var literal: ODataLiteral { .bool(self) }
    public func json(_ version: ODataVersion) -> WireValue { .bool(self) }
}

extension String: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        self = text
    }
    public var literal: ODataLiteral { .string(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(self) }
}

extension UUID: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        self.init(uuidString: text)
    }
    public var literal: ODataLiteral { .guid(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(uuidString.lowercased()) }
}

extension Data: ODataPrimitive {
    /// Base64, with either alphabet, padded or not.
    public init?(odata json: WireValue) {
        guard var text = json.stringValue else { return nil }
        text = text.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        self.init(base64Encoded: text)
    }
    public var literal: ODataLiteral { .binary([UInt8](self)) }
    public func json(_ version: ODataVersion) -> WireValue {
        let text = base64EncodedString()
        guard version == .v4 else { return .string(text) }
        return .string(text.replacing("+", with: "-").replacing("/", with: "_"))
    }
}

/// One of a schema's names for numbers, or several of them. Names that this app does not know are kept.
public protocol ODataEnumeration: ODataPrimitive, Hashable {
    /// The qualified name of the type in the model.
    static var odataType: String { get }
    /// Names joined by commas for flags.
    var rawValue: String { get }
    init(rawValue: String)
}

extension ODataEnumeration {
    public init?(odata json: WireValue) {
        guard let text = json.stringValue ?? json.int64Value.map({ String($0) }) else { return nil }
        self.init(rawValue: text)
    }
    /// As a constant of an expression.
    public var literal: ODataLiteral { .enumeration(type: Self.odataType, text: rawValue) }
    /// As a member of a request's body in that version.
    public func json(_ version: ODataVersion) -> WireValue { .string(rawValue) }
    /// Flags together.
    public func union(_ other: Self) -> Self { Self(rawValue: rawValue + "," + other.rawValue) }
}

/// A value within an address.
public enum ODataLiteral: Sendable, Equatable {
    /// No value.
    case null
    /// A constant of this primitive type.
    case bool(Bool)
    /// An integer of 32 bits or fewer.
    case int(Int64)
    /// A constant of this primitive type.
    case int64(Int64)
    /// A constant of this primitive type.
    case decimal(Decimal)
    /// A constant of this primitive type.
    case double(Double)
    /// A constant of this primitive type.
    case single(Float)
    /// A constant of this primitive type.
    case string(String)
    /// A constant of this primitive type.
    case guid(UUID)
    /// A constant of this primitive type.
    case date(ODataDate)
    /// A constant of this primitive type.
    case dateTime(ODataDateTime)
    /// A constant of this primitive type.
    case localDateTime(ODataLocalDateTime)
    /// A constant of this primitive type.
    case timeOfDay(ODataTimeOfDay)
    /// A constant of this primitive type.
    case duration(Duration)
    /// A constant of this primitive type.
    case binary([UInt8])
    /// A member of an enumeration, by its name.
    case enumeration(type: String, text: String)
}

/// The writing of literals. Whatever a value holds stays within its literal: text stands in quotes, with its own quotes
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
    /// OData 2.0, as SAP's gateways serve it.
    case v2
    /// OData 4.0 and 4.01.
    case v4
}
