import AdapterKit

/// The order of single values: −1, 0 or 1.
enum ValueOrder {
    /// Nil where the two cannot be compared or one is null.
    static func compare(_ left: WireValue, _ right: WireValue) -> Int? {
        switch (left, right) {
        case (.bool(let a), .bool(let b)): sign(a ? 1 : 0, b ? 1 : 0)
        case (.string(let a), .string(let b)): bytes(Array(a.utf8), Array(b.utf8))
        case (.data(let a), .data(let b)): bytes(a, b)
        case (.date(let a), .date(let b)): sign(a.secondsSinceReferenceDate, b.secondsSinceReferenceDate)
        case (.int64(let a), .int64(let b)): sign(a, b)
        default: numbers(left, right)
        }
    }

    /// Null is smaller than everything.
    static func withNull(_ left: WireValue, _ right: WireValue) -> Int {
        switch (left.isNull, right.isNull) {
        case (true, true): 0
        case (true, false): -1
        case (false, true): 1
        case (false, false): compare(left, right) ?? 0
        }
    }

    /// The generator makes numbers that doubles carry exactly.
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
