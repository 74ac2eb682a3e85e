import Foundation
import ValueTree

/// A Swift type that stands for a primitive type of OData.
public protocol ODataPrimitive: Sendable, Equatable {
    /// Nil for what is none of the type's. Versions differ in how JSON carries numbers and times; either is taken.
    init?(odata json: WireValue)
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
    public var literal: ODataLiteral { .enumeration(type: Self.odataType, text: rawValue) }
    public func json(_ version: ODataVersion) -> WireValue { .string(rawValue) }
    /// Flags together.
    public func union(_ other: Self) -> Self { Self(rawValue: rawValue + "," + other.rawValue) }
}
