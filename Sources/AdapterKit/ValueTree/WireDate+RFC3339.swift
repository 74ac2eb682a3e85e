// RFC 3339 text, the form of a date in JSON and generic XML. Fractions go through decimal text, never through
// arithmetic on doubles, so that every instant survives bit by bit: the double's shortest decimal digits are split at
// the point, and reading puts the same digits together again.

extension WireDate {
    /// The instant in UTC, with as many fraction digits as tell it apart from its neighbours; nil for years outside
    /// 0000…9999 and for what is not finite.
    public var rfc3339: String? {
        guard secondsSinceReferenceDate.isFinite, secondsSinceReferenceDate.magnitude < 1e12 else { return nil }
        let (whole, fraction) = DecimalSeconds.split(secondsSinceReferenceDate)
        guard let civil = CivilTime(secondsSinceReferenceDate: whole) else { return nil }
        return fraction.isEmpty ? "\(civil)Z" : "\(civil).\(fraction)Z"
    }

    /// Reads RFC 3339, section 5.6, offsets included. Nil for anything else: a missing offset, a space for the `T`, a
    /// day that the month lacks, a leap second (it has no place on this time scale), over 400 fraction digits.
    public init?(rfc3339 text: String) {
        var scanner = RFC3339Scanner(text)
        guard let (whole, fraction) = scanner.scan() else { return nil }
        self.init(secondsSinceReferenceDate: DecimalSeconds.join(whole, fraction))
    }
}

/// Seconds as a whole number, rounded down, and the decimal digits after the point.
enum DecimalSeconds {
    static func split(_ seconds: Double) -> (whole: Int, fraction: String) {
        // Most instants have no fraction.
        if let whole = Int(exactly: seconds) { return (whole, "") }
        // Cannot trap: `rfc3339` asks only for what is finite and below 1e12.
        guard let decimal = WireDecimal(seconds.description) else { preconditionFailure("not finite") }
        let digits = [UInt8](decimal.digits.utf8)
        let places = -decimal.exponent
        guard places > 0 else { return (Int(seconds), "") }
        let padded = [UInt8](repeating: 0x30, count: max(0, places + 1 - digits.count)) + digits
        let fraction = trimmed(padded.suffix(places))
        // Cannot trap: digits, at most twelve before the point.
        let magnitude = Int(String(decoding: padded.dropLast(places), as: UTF8.self))!
        guard decimal.isNegative else { return (magnitude, text(fraction)) }
        return fraction.isEmpty ? (-magnitude, "") : (-magnitude - 1, text(complement(fraction)))
    }

    static func join(_ whole: Int, _ fraction: [UInt8]) -> Double {
        let fraction = trimmed(fraction[...])
        if fraction.isEmpty { return Double(whole) }
        // Cannot trap: digits around a point.
        if whole >= 0 { return Double("\(whole).\(text(fraction))")! }
        // Cannot trap: digits around a point.
        return Double("-\(-whole - 1).\(text(complement(fraction)))")!
    }

    /// The digits of one minus the fraction; the last digit is not zero.
    private static func complement(_ fraction: [UInt8]) -> [UInt8] {
        var digits = fraction.map { 0x69 - $0 }
        digits[digits.count - 1] += 1
        return digits
    }

    private static func trimmed(_ digits: ArraySlice<UInt8>) -> [UInt8] {
        var digits = digits
        while digits.last == 0x30 { digits.removeLast() }
        return Array(digits)
    }

    private static func text(_ digits: [UInt8]) -> String { String(decoding: digits, as: UTF8.self) }
}
