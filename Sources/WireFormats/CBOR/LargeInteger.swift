import ValueTree

/// A natural number of any length, for the change between base 256 and base 10. Quadratic, so its size is limited.
struct LargeInteger {
    /// Enough for ``WireDecimal/maximumDigits``.
    static let maximumBytes = 1701

    /// In base 10^9, the least significant first.
    private var limbs: [UInt32] = []
    private static let base: UInt64 = 1_000_000_000

    init(bigEndian bytes: some Sequence<UInt8>) {
        for byte in bytes { multiply(by: 256, adding: UInt64(byte)) }
    }

    /// From ASCII digits.
    init(digits: String) {
        for digit in digits.utf8 { multiply(by: 10, adding: UInt64(digit - 0x30)) }
    }

    private mutating func multiply(by factor: UInt64, adding addend: UInt64) {
        var carry = addend
        for index in limbs.indices {
            let product = UInt64(limbs[index]) * factor + carry
            limbs[index] = UInt32(product % Self.base)
            carry = product / Self.base
        }
        if carry > 0 { limbs.append(UInt32(carry)) }
    }

    func adding(_ number: UInt64) -> LargeInteger {
        var sum = self
        sum.multiply(by: 1, adding: number)
        return sum
    }

    /// The number minus one; it must not be zero.
    var predecessor: LargeInteger {
        var result = self
        var index = 0
        while result.limbs[index] == 0 {
            result.limbs[index] = UInt32(Self.base - 1)
            index += 1
        }
        result.limbs[index] -= 1
        return result
    }

    var digits: String {
        guard let last = limbs.last(where: { $0 != 0 }) else { return "0" }
        let significant = limbs[...limbs.lastIndex { $0 != 0 }!].dropLast()
        return significant.reversed().reduce(String(last)) { text, limb in
            let part = String(limb)
            return text + String(repeating: "0", count: 9 - part.utf8.count) + part
        }
    }

    /// Without leading zeros.
    var bigEndian: [UInt8] {
        var (bytes, rest) = ([UInt8](), limbs)
        while let last = rest.last {
            guard last != 0 else {
                rest.removeLast()
                continue
            }
            var remainder: UInt64 = 0
            for index in rest.indices.reversed() {
                let value = remainder * Self.base + UInt64(rest[index])
                rest[index] = UInt32(value / 256)
                remainder = value % 256
            }
            bytes.append(UInt8(remainder))
        }
        return bytes.reversed()
    }
}
