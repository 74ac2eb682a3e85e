import AdapterKit

/// Bytes that compare, as `memcmp` compares, like the instants they stand for; equal for equal instants.
///
///     steps of 100 nanoseconds since 2001 plus 2⁶³, eight bytes, big-endian; then, where there are any, the attoseconds
///     beyond them, five bytes, big-endian
///
/// Of two keys that begin alike the shorter one is smaller. A REAL column was rejected: it tells instants of this year 119
/// nanoseconds apart, and those of the year 9999 30 microseconds.
package enum InstantKey {
    private static let short = 8
    private static let long = 13

    package static func bytes(of instant: WireDate) -> [UInt8] {
        let ticks = UInt64(bitPattern: instant.ticks) ^ 1 << 63
        let rest = UInt64(instant.attoseconds)
        return [UInt8](unsafeUninitializedCapacity: rest == 0 ? short : long) { buffer, count in
            count = rest == 0 ? short : long
            for place in 0..<short { buffer[place] = UInt8(truncatingIfNeeded: ticks >> (56 - 8 * place)) }
            for place in short..<count { buffer[place] = UInt8(truncatingIfNeeded: rest >> (96 - 8 * place)) }
        }
    }

    /// Nil for what is no such key.
    package static func instant(_ bytes: UnsafeRawBufferPointer) -> WireDate? {
        guard bytes.count == short || bytes.count == long else { return nil }
        let ticks = bytes[..<short].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let rest = bytes[short...].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return WireDate(ticks: Int64(bitPattern: ticks ^ 1 << 63), attosecondsBeyond: rest)
    }
}

/// Bytes that compare, as `memcmp` compares, like the decimals they stand for; equal for equal numbers.
///
///     zero      01
///     positive  02, magnitude
///     negative  00, magnitude with every bit flipped
///     magnitude exponent e of 0.d₁d₂… × 10^e (d₁ ≠ 0) plus 2³¹, four bytes, big-endian; then each digit plus one, one
///               byte each, trailing zeros left out; then 00
///
/// The end mark is smaller than every digit, so of two magnitudes that begin alike the shorter one is smaller. A REAL
/// column was rejected: it would call different decimals equal.
package enum DecimalSortKey {
    package static func bytes(of number: WireDecimal) -> [UInt8] {
        var digits = Array(number.digits.utf8)
        let point = number.exponent + digits.count
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        guard !digits.isEmpty else { return [1] }
        // Cannot trap: an exponent and at most some thousand digits.
        let exponent = UInt32(bitPattern: Int32(point)) &+ 1 << 31
        var magnitude = (0..<4).map { UInt8(truncatingIfNeeded: exponent >> (24 - 8 * $0)) }
        magnitude += digits.map { $0 - UInt8(ascii: "0") + 1 } + [0]
        return number.isNegative ? [0] + magnitude.map { ~$0 } : [2] + magnitude
    }
}
