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
