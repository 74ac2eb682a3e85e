/// An exact decimal number: `(-1)^isNegative × digits × 10^exponent`.
///
/// It keeps the digits that were written (`1.50` keeps its zero), so a number survives any chain of formats unchanged.
/// Equality is by numeric value.
public struct WireDecimal: Sendable {
    public let isNegative: Bool
    /// One or more ASCII digits without leading zeros, `0` for zero.
    public let digits: String
    public let exponent: Int

    /// Reads a JSON number (RFC 8259, section 6) or one with a leading `+`; anything else is nil, as is an exponent
    /// beyond ±999,999 or more than ``maximumDigits`` digits.
    public init?(_ text: String) {
        var scanner = DecimalScanner(text.utf8)
        guard let parsed = scanner.scan() else { return nil }
        self = parsed
    }

    public static let maximumDigits = 4096
    public static let maximumExponent = 999_999

    init(isNegative: Bool, digits: String, exponent: Int) {
        self.isNegative = isNegative
        self.digits = digits
        self.exponent = exponent
    }

    public init(_ value: Int64) {
        self.init(isNegative: value < 0, digits: String(value.magnitude), exponent: 0)
    }

    public init(_ value: UInt64) {
        self.init(isNegative: false, digits: String(value), exponent: 0)
    }
}

extension WireDecimal {
    public var isZero: Bool { digits == "0" }
}

extension WireDecimal: Hashable {
    /// Digits without trailing zeros, and the exponent that goes with them.
    var normalized: (digits: Substring, exponent: Int) {
        guard digits != "0" else { return ("0", 0) }
        var trimmed = digits[...]
        while trimmed.utf8.last == UInt8(ascii: "0") { trimmed.removeLast() }
        return (trimmed, exponent + digits.utf8.count - trimmed.utf8.count)
    }

    public static func == (left: WireDecimal, right: WireDecimal) -> Bool {
        let (a, b) = (left.normalized, right.normalized)
        return a == b && (left.isNegative == right.isNegative || a.digits == "0")
    }

    public func hash(into hasher: inout Hasher) {
        let (digits, exponent) = normalized
        hasher.combine(digits)
        hasher.combine(exponent)
        hasher.combine(isNegative && digits != "0")
    }
}

extension WireDecimal: CustomStringConvertible {
    /// The number as JSON writes it: plain notation while the exponent is between −40 and 0, otherwise scientific.
    public var description: String {
        let sign = isNegative ? "-" : ""
        if exponent == 0 { return sign + digits }
        guard exponent < 0, exponent >= -40 else { return "\(sign)\(digits)e\(exponent)" }
        let count = digits.utf8.count
        if count > -exponent {
            let split = digits.index(digits.endIndex, offsetBy: exponent)
            return "\(sign)\(digits[..<split]).\(digits[split...])"
        }
        return sign + "0." + String(repeating: "0", count: -exponent - count) + digits
    }
}
