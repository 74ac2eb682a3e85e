import AdapterKit

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
