/// IEEE 754 binary16 (RFC 8949, appendix D). Swift's `Float16` does not exist on every platform we build for.
enum HalfFloat {
    static func double(_ bits: UInt16) -> Double {
        let sign = UInt64(bits >> 15) << 63
        let (exponent, fraction) = (Int(bits >> 10 & 31), UInt64(bits & 0x3FF))
        switch exponent {
        case 0:
            let magnitude = Double(fraction) * 0x1p-24
            return Double(bitPattern: magnitude.bitPattern | sign)
        case 31: return Double(bitPattern: sign | 0x7FF << 52 | fraction << 42)
        default: return Double(bitPattern: sign | UInt64(exponent - 15 + 1023) << 52 | fraction << 42)
        }
    }

    /// Nil where the number is not exactly a half.
    static func bits(_ number: Double) -> UInt16? {
        let pattern = number.bitPattern
        let sign = UInt16(pattern >> 63) << 15
        let exponent = Int(pattern >> 52 & 0x7FF)
        let candidate: UInt16
        switch exponent {
        case 0x7FF: candidate = sign | 0x7C00 | UInt16(pattern >> 42 & 0x3FF)
        case 1009...1038: candidate = sign | UInt16(exponent - 1023 + 15) << 10 | UInt16(pattern >> 42 & 0x3FF)
        case 999..<1009: candidate = sign | UInt16(number.magnitude * 0x1p24)
        case 0: candidate = sign
        default: return nil
        }
        return double(candidate).bitPattern == pattern ? candidate : nil
    }
}
