import Foundation
import ValueTree

extension WireValue {
    /// A number's digits, however the number is carried.
    var numberText: String? {
        switch self {
        case .int64(let number): String(number)
        case .uint64(let number): String(number)
        case .double(let number): "\(number)"
        case .decimal(let number): number.description
        case .string(let text): text
        default: nil
        }
    }

    init(number text: String) {
        self = WireDecimal(text).map { $0.narrowed ?? .decimal($0) } ?? .string(text)
    }
}

extension ODataPrimitive where Self: FixedWidthInteger {
    public init?(odata json: WireValue) {
        guard let text = json.numberText, let number = WireDecimal(text)?.narrowed?.int64Value else { return nil }
        self.init(exactly: number)
    }
    public var literal: ODataLiteral { .int(Int64(self)) }
    public func json(_ version: ODataVersion) -> WireValue { .int64(Int64(self)) }
}

extension UInt8: ODataPrimitive {}
extension Int8: ODataPrimitive {}
extension Int16: ODataPrimitive {}
extension Int32: ODataPrimitive {}

/// As a text, as decimals: most readers of JSON take a number for a binary fraction of 53 bits (version 4 calls it
/// `IEEE754Compatible`, version 2 always does so).
extension Int64: ODataPrimitive {
    public var literal: ODataLiteral { .int64(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(String(self)) }
}

/// Exact: a number of more than 38 digits is not read rather than rounded.
extension Decimal: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let text = json.numberText, let exact = WireDecimal(text),
            let number = Decimal(string: exact.description, locale: Locale(identifier: "en_US_POSIX")),
            WireDecimal(number.plainText) == exact
        else { return nil }
        self = number
    }
    public var literal: ODataLiteral { .decimal(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(plainText) }

    /// Digits and a point, in no place's manner.
    var plainText: String {
        var number = self
        return NSDecimalString(&number, Locale(identifier: "en_US_POSIX"))
    }
}

extension Double: ODataPrimitive {
    public init?(odata json: WireValue) {
        switch json.numberText {
        case "INF"?: self = .infinity
        case "-INF"?: self = -.infinity
        case "NaN"?: self = .nan
        case let text?:
            guard let number = Double(text), number.isFinite else { return nil }
            self = number
        case nil: return nil
        }
    }
    public var literal: ODataLiteral { .double(self) }
    public func json(_ version: ODataVersion) -> WireValue {
        guard isFinite else { return .string(isNaN ? "NaN" : self < 0 ? "-INF" : "INF") }
        return version == .v2 ? .string("\(self)") : .double(self)
    }
}

extension Float: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let number = Double(odata: json) else { return nil }
        self = Float(number)
    }
    public var literal: ODataLiteral { .single(self) }
    public func json(_ version: ODataVersion) -> WireValue {
        // By its own digits, not by those of the double next to it.
        isFinite ? (version == .v2 ? .string("\(self)") : WireValue(number: "\(self)")) : Double(self).json(version)
    }
}
