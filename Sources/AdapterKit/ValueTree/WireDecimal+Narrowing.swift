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
    public var isCarriedByEveryFormat: Bool {
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
