/// An exact decimal number: `(-1)^isNegative × digits × 10^exponent`.
///
/// It keeps the digits that were written (`1.50` keeps its zero), so a number survives any chain of formats unchanged.
/// Equality is by numeric value.
public struct WireDecimal: Sendable {
    /// Whether the number is below zero.
    public let isNegative: Bool
    /// One or more ASCII digits without leading zeros, `0` for zero.
    public let digits: String
    /// The power of ten that the digits are multiplied by.
    public let exponent: Int

    /// Reads a JSON number (RFC 8259, section 6) or one with a leading `+`; anything else is nil, as is an exponent
    /// beyond ±999,999 or more than ``maximumDigits`` digits.
    public init?(_ text: String) {
        var scanner = DecimalScanner(text.utf8)
        guard let parsed = scanner.scan() else { return nil }
        self = parsed
    }

    /// The largest number of digits.
    public static let maximumDigits = 4096
    /// The largest magnitude of an exponent that is read.
    public static let maximumExponent = 999_999

    init(isNegative: Bool, digits: String, exponent: Int) {
        self.isNegative = isNegative
        self.digits = digits
        self.exponent = exponent
    }

    /// Creates a wire decimal with these values.
    public init(_ value: Int64) {
        self.init(isNegative: value < 0, digits: String(value.magnitude), exponent: 0)
    }

    /// Creates a wire decimal with these values.
    public init(_ value: UInt64) {
        self.init(isNegative: false, digits: String(value), exponent: 0)
    }
}

extension WireDecimal {
    /// Whether the number is zero.
    public var isZero: Bool { digits == "0" }

    /// The number times −1.
    public var negated: WireDecimal { WireDecimal(isNegative: !isNegative, digits: digits, exponent: exponent) }

    /// The number times 10 to `places`, with the same digits.
    public func shifted(by places: Int) -> WireDecimal {
        WireDecimal(isNegative: isNegative, digits: digits, exponent: exponent + places)
    }
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

extension WireDecimal {
    /// The double that the number's digits mean: its shortest digits (`0.1`), or its exact value rounded to as many
    /// digits as are given, at most 17 (`0.10000000000000001`, as C writes it with `%.17g`). Nil where a double would
    /// lose digits.
    public var exactDouble: Double? {
        guard let double = Double(description), double.isFinite, double != 0 || isZero else { return nil }
        if isZero || WireDecimal(double.description) == self { return double }
        let (digits, exponent) = normalized
        guard digits.utf8.count <= 17, let significant = UInt64(digits) else { return nil }
        let value = ExactDigits(double.magnitude)
        return value.rounded(to: digits.utf8.count) == Rounded(significant, exponent) ? double : nil
    }
}

/// A number of few digits, times a power of ten, without trailing zeros.
private struct Rounded: Equatable {
    let digits: UInt64
    let exponent: Int

    init(_ digits: UInt64, _ exponent: Int) {
        var (digits, exponent) = (digits, exponent)
        while digits != 0, digits % 10 == 0 { (digits, exponent) = (digits / 10, exponent + 1) }
        (self.digits, self.exponent) = (digits, exponent)
    }
}

/// All decimal digits of a finite double above zero, of which it has at most 767.
private struct ExactDigits {
    private let digits: [UInt8]
    private let exponent: Int

    init(_ number: Double) {
        // number = significand × 2^power, the significand an integer; for a negative power significand × 5^-power × 10^power.
        let hasHiddenBit: UInt64 = number.isNormal ? 1 << 52 : 0
        let power = Int(max(number.exponentBitPattern, 1)) - 1075
        var limbs = DecimalLimbs(number.significandBitPattern | hasHiddenBit)
        for _ in 0..<power.magnitude { limbs.multiply(by: power < 0 ? 5 : 2) }
        digits = limbs.digits
        exponent = min(power, 0)
    }

    /// The number rounded to so many digits, to an even last one where it lies in the middle.
    func rounded(to count: Int) -> Rounded {
        let kept = digits.prefix(count).reduce(0 as UInt64) { $0 * 10 + UInt64($1) }
        let rest = digits.dropFirst(count)
        let isInTheMiddle = rest.first == 5 && !rest.dropFirst().contains { $0 != 0 }
        let roundsUp = isInTheMiddle ? kept % 2 == 1 : (rest.first ?? 0) >= 5
        return Rounded(roundsUp ? kept + 1 : kept, exponent + rest.count)
    }
}

/// An integer of any size, nine decimal digits a limb, the lowest first.
private struct DecimalLimbs {
    private static let base: UInt64 = 1_000_000_000
    private var limbs: [UInt64]

    init(_ number: UInt64) {
        limbs = [number % Self.base, number / Self.base % Self.base, number / Self.base / Self.base]
    }

    mutating func multiply(by factor: UInt64) {
        var carry: UInt64 = 0
        for index in limbs.indices {
            let product = limbs[index] * factor + carry
            (carry, limbs[index]) = product.quotientAndRemainder(dividingBy: Self.base)
        }
        if carry > 0 { limbs.append(carry) }
    }

    /// From the highest one, without leading zeros.
    var digits: [UInt8] {
        let text = limbs.reversed().map { limb in
            let digits = String(limb)
            return String(repeating: "0", count: 9 - digits.utf8.count) + digits
        }.joined()
        return text.utf8.map { $0 - 0x30 }.drop { $0 == 0 }.map { $0 }
    }
}

extension WireDecimal {
    /// The same number as an integer or a double, where one carries it exactly: `5` and `5.00` as an integer, `12.50`
    /// as the double that is written `12.5`. Nil otherwise. For formats without decimals.
    public var narrowed: WireValue? {
        if let integer = narrowedInteger { return integer }
        return shortestDouble.map(WireValue.double)
    }

    /// The double whose shortest digits are this number.
    private var shortestDouble: Double? {
        guard let double = Double(description), double.isFinite, WireDecimal(double.description) == self else {
            return nil
        }
        return double
    }

    /// Whether every wire format carries the number: an integer in at most ``maximumDigits`` digits, another number
    /// within the range of a double, since JSON's readers take no other.
    public var isRepresentableInEveryFormat: Bool {
        guard exponent < 0 else { return isZero || digits.utf8.count + exponent <= Self.maximumDigits }
        guard let double = Double(description) else { return false }
        return double.isFinite && (double != 0 || isZero)
    }

    /// Whether the number is one without a fraction.
    public var isInteger: Bool { normalized.exponent >= 0 }

    private var narrowedInteger: WireValue? {
        let (significant, exponent) = normalized
        guard exponent >= 0, exponent < 20 else { return nil }
        let text = (isNegative ? "-" : "") + significant + String(repeating: "0", count: exponent)
        return Int64(text).map(WireValue.int64) ?? UInt64(text).map(WireValue.uint64)
    }
}

/// The grammar of RFC 8259's `number`, with an optional leading `+`, over UTF-8.
struct DecimalScanner {
    private let text: [UInt8]
    private var position = 0

    init(_ utf8: String.UTF8View) {
        text = Array(utf8)
    }

    mutating func scan() -> WireDecimal? {
        let negative = takes("-")
        if !negative { _ = takes("+") }
        let whole = takeDigits()
        guard !whole.isEmpty, whole.count == 1 || whole[0] != UInt8(ascii: "0") else { return nil }
        var fraction: [UInt8] = []
        if takes(".") {
            fraction = takeDigits()
            guard !fraction.isEmpty else { return nil }
        }
        guard let exponent = takeExponent(), position == text.count else { return nil }
        let digits = (whole + fraction).drop { $0 == UInt8(ascii: "0") }
        guard digits.count <= WireDecimal.maximumDigits else { return nil }
        let value = exponent - fraction.count
        guard value.magnitude <= WireDecimal.maximumExponent + WireDecimal.maximumDigits else { return nil }
        return WireDecimal(
            isNegative: negative, digits: digits.isEmpty ? "0" : String(decoding: digits, as: UTF8.self),
            exponent: value)
    }

    private mutating func takeExponent() -> Int? {
        guard takes("e") || takes("E") else { return 0 }
        let negative = takes("-")
        if !negative { _ = takes("+") }
        let digits = takeDigits()
        guard !digits.isEmpty else { return nil }
        guard let value = Int(String(decoding: digits, as: UTF8.self)), value <= WireDecimal.maximumExponent else {
            return nil
        }
        return negative ? -value : value
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func takeDigits() -> [UInt8] {
        let start = position
        while position < text.count, text[position] &- 0x30 < 10 { position += 1 }
        return Array(text[start..<position])
    }
}
