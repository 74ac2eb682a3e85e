import AdapterKit

/// The order of single values: −1, 0 or 1.
public enum ValueOrder {
    /// Nil where the two cannot be compared or one is null.
    public static func compare(_ left: WireValue, _ right: WireValue) -> Int? {
        switch (left, right) {
        case (.bool(let a), .bool(let b)): sign(a ? 1 : 0, b ? 1 : 0)
        case (.string(let a), .string(let b)): bytes(Array(a.utf8), Array(b.utf8))
        case (.data(let a), .data(let b)): bytes(a, b)
        case (.date(let a), .date(let b)): sign(a, b)
        case (.int64(let a), .int64(let b)): sign(a, b)
        case (.decimal(let a), .decimal(let b)): bytes(sortKey(a), sortKey(b))
        default: numbers(left, right)
        }
    }

    /// Null is smaller than everything.
    public static func withNull(_ left: WireValue, _ right: WireValue) -> Int {
        switch (left.isNull, right.isNull) {
        case (true, true): 0
        case (true, false): -1
        case (false, true): 1
        case (false, false): compare(left, right) ?? 0
        }
    }

    /// Sign, exponent of 0.d₁d₂… and digits, as bytes that compare like the number.
    private static func sortKey(_ number: WireDecimal) -> [UInt8] {
        var digits = Array(number.digits.utf8)
        let point = number.exponent + digits.count
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        guard !digits.isEmpty else { return [1] }
        let biased = UInt64(bitPattern: Int64(point) + 1 << 40)
        let magnitude = (0..<6).map { UInt8(truncatingIfNeeded: biased >> (40 - 8 * $0)) } + digits + [0]
        return number.isNegative ? [0] + magnitude.map { ~$0 } : [2] + magnitude
    }

    /// Numbers of different kinds, as far as doubles carry them exactly.
    private static func numbers(_ left: WireValue, _ right: WireValue) -> Int? {
        guard let a = number(left), let b = number(right) else { return nil }
        return sign(a, b)
    }

    private static func number(_ value: WireValue) -> Double? {
        if case .decimal(let decimal) = value { return Double(decimal.description) }
        return value.doubleValue
    }

    private static func sign<Value: Comparable>(_ a: Value, _ b: Value) -> Int { a < b ? -1 : a == b ? 0 : 1 }

    private static func bytes(_ a: [UInt8], _ b: [UInt8]) -> Int {
        if a == b { return 0 }
        return a.lexicographicallyPrecedes(b) ? -1 : 1
    }
}
