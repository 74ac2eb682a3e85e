extension WireDecimal {
    /// The same number as an integer or a double, where one carries it exactly: `5` and `5.00` as an integer, `12.50`
    /// as the double that is written `12.5`. Nil otherwise. For formats without decimals.
    public var narrowed: WireValue? {
        if let integer = narrowedInteger { return integer }
        guard let double = Double(description), double.isFinite, let shortest = WireDecimal(double.description),
            shortest == self
        else { return nil }
        return .double(double)
    }

    private var narrowedInteger: WireValue? {
        let (significant, exponent) = normalized
        guard exponent >= 0, exponent < 20 else { return nil }
        let text = (isNegative ? "-" : "") + significant + String(repeating: "0", count: exponent)
        return Int64(text).map(WireValue.int64) ?? UInt64(text).map(WireValue.uint64)
    }
}
