import ValueTree

extension JSONReader {
    /// Takes a number (RFC 8259, section 6). Up to 18 digits are put together while scanning.
    mutating func readNumber(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = position
        let isNegative = text[start] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let (magnitude, digits) = takeDigits(text)
        guard digits > 0, digits == 1 || text[position - digits] != 0x30 else { throw malformedNumber(start) }
        if position < text.count, isRealMark(text[position]) {
            return try readReal(text, start, isNegative, magnitude, digits)
        }
        guard digits <= 18 else { return try readLargeInteger(text, start) }
        let number = isNegative ? -Int64(magnitude) : Int64(magnitude)
        try builder.scalar(TapeToken(.int64, bits: UInt64(bitPattern: number)), at: start)
    }

    /// The value is right for up to 19 digits.
    @inline(__always)
    private mutating func takeDigits(_ text: Span<UInt8>, after leading: UInt64 = 0) -> (value: UInt64, count: Int) {
        var value = leading
        let start = position
        while position < text.count, text[position] &- 0x30 < 10 {
            value = value &* 10 &+ UInt64(text[position] &- 0x30)
            position &+= 1
        }
        return (value, position - start)
    }

    private func isRealMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
    }

    private mutating func readReal(
        _ text: Span<UInt8>, _ start: Int, _ isNegative: Bool, _ whole: UInt64, _ wholeDigits: Int
    ) throws(WireFormatError) {
        var (mantissa, fractionDigits) = (whole, 0)
        if text[position] == UInt8(ascii: ".") {
            position += 1
            (mantissa, fractionDigits) = takeDigits(text, after: whole)
            guard fractionDigits > 0 else { throw malformedNumber(start) }
        }
        let exponent = try takeExponent(text, start) - fractionDigits
        if wholeDigits + fractionDigits <= 18, let number = ExactPowers.scale(mantissa, by: exponent),
            // 15 digits survive every double; with more, the double's shortest digits must be these.
            mantissa < 1_000_000_000_000_000 || ShortestDigits(number).are(mantissa, exponent)
        {
            let bits = (isNegative ? -number : number).bitPattern
            return try builder.scalar(TapeToken(.double, bits: bits), at: start)
        }
        try readWideReal(text, start)
    }

    /// Saturates far beyond every double.
    private mutating func takeExponent(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Int {
        guard position < text.count, text[position] | 0x20 == UInt8(ascii: "e") else { return 0 }
        position += 1
        let isSigned = position < text.count && (text[position] == 0x2B || text[position] == 0x2D)
        let isNegative = isSigned && text[position] == 0x2D
        if isSigned { position += 1 }
        let (value, digits) = takeDigits(text)
        guard digits > 0 else { throw malformedNumber(start) }
        let magnitude = digits > 18 ? Int(1e9) : Int(min(value, 1_000_000_000))
        return isNegative ? -magnitude : magnitude
    }

    func malformedNumber(_ start: Int) -> WireFormatError {
        builder.failure(.malformed, "a number is malformed", at: start)
    }
}

/// Clinger's fast path: mantissa and power of ten are exact doubles, so one operation rounds correctly.
private enum ExactPowers {
    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    static func scale(_ mantissa: UInt64, by exponent: Int) -> Double? {
        guard mantissa <= 1 << 53, exponent >= -22, exponent <= 22 else { return nil }
        return exponent < 0 ? Double(mantissa) / powers[-exponent] : Double(mantissa) * powers[exponent]
    }
}

/// The shortest decimal digits that read back as a double, without zeros at their end.
struct ShortestDigits {
    private let digits: UInt64
    private let exponent: Int

    /// A finite number, whose sign is not looked at.
    init(_ number: Double) {
        var (digits, exponent, places, isFraction) = (0 as UInt64, 0, 0, false)
        var text = Substring(number.magnitude.description).utf8
        while let byte = text.popFirst() {
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else if byte == UInt8(ascii: "e") {
                exponent = Int(Substring(text)) ?? 0
                break
            } else {
                // At most 17 digits and a zero behind the point.
                digits = digits &* 10 &+ UInt64(byte &- 0x30)
                if isFraction { places += 1 }
            }
        }
        (self.digits, self.exponent) = Self.withoutZeros(digits, exponent - places)
    }

    func are(_ digits: UInt64, _ exponent: Int) -> Bool {
        let other = Self.withoutZeros(digits, exponent)
        return other.digits == self.digits && (other.exponent == self.exponent || digits == 0)
    }

    private static func withoutZeros(_ digits: UInt64, _ exponent: Int) -> (digits: UInt64, exponent: Int) {
        var (digits, exponent) = (digits, exponent)
        while digits != 0, digits % 10 == 0 { (digits, exponent) = (digits / 10, exponent + 1) }
        return (digits, exponent)
    }
}
