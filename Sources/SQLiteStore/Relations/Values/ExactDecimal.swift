import AdapterKit

/// A decimal number to compute with: `(-1)^isNegative × digits × 10^exponent`, without zeros at either end.
struct ExactDecimal: Equatable {
    private(set) var isNegative: Bool
    /// Values from 0 to 9, the most significant first; none for zero.
    private(set) var digits: [UInt8]
    private(set) var exponent: Int

    /// Results with more digits are null, so that hostile exponents cost no memory and hostile quotients no time.
    static let maximumDigits = 1024

    /// Nil for what is too long, or beyond the exponents that ``WireDecimal`` takes.
    var withinLimits: ExactDecimal? {
        // Cannot trap: exponents are far from the ends of 64 bits.
        digits.count <= Self.maximumDigits && abs(exponent) + digits.count <= WireDecimal.maximumExponent ? self : nil
    }

    static let zero = ExactDecimal(isNegative: false, digits: [], exponent: 0)

    init(isNegative: Bool, digits: [UInt8], exponent: Int) {
        let first = digits.firstIndex { $0 != 0 } ?? digits.endIndex
        let end = digits.lastIndex { $0 != 0 }.map { $0 + 1 } ?? first
        self.digits = Array(digits[first..<end])
        self.isNegative = isNegative && first < end
        self.exponent = first < end ? exponent + digits.count - end : 0
    }

    init(_ number: WireDecimal) {
        self.init(
            isNegative: number.isNegative, digits: number.digits.utf8.map { $0 - UInt8(ascii: "0") },
            exponent: number.exponent)
    }

    /// Nil for a double that is no number.
    init?(_ number: Double) {
        guard number.isFinite, let decimal = WireDecimal(number.description) else { return nil }
        self.init(decimal)
    }

    init(_ number: Int64) { self.init(WireDecimal(number)) }

    /// Reads ``DecimalSortKey``.
    init?(key: [UInt8]) {
        if key == [1] {
            self = .zero
            return
        }
        guard key.count > 6, key[0] == 0 || key[0] == 2 else { return nil }
        let flip: UInt8 = key[0] == 0 ? 0xFF : 0
        let biased = key[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1 ^ flip) }
        let point = Int(Int32(bitPattern: biased &- 1 << 31))
        let digits = key[5..<(key.count - 1)].map { ($0 ^ flip) &- 1 }
        self.init(isNegative: key[0] == 0, digits: digits, exponent: point - digits.count)
    }

    var key: [UInt8] { DecimalSortKey.bytes(of: wire) }

    /// Plain digits where that is short.
    var wire: WireDecimal {
        guard !digits.isEmpty else { return WireDecimal(Int64(0)) }
        let padding = exponent > 0 && exponent <= 40 ? exponent : 0
        let text = (isNegative ? "-" : "") + String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        let zeros = String(repeating: "0", count: padding)
        return WireDecimal("\(text)\(zeros)e\(exponent - padding)") ?? WireDecimal(Int64(0))
    }

    var double: Double { Double(wire.description) ?? .nan }

    /// Nil beyond 64 bits. What is behind the point is cut off.
    var integer: Int64? { rounded(.towardZero).wire.narrowed?.int64Value }
}
