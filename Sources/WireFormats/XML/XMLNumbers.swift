/// Numbers as XML writes them, strictly.
enum XMLNumbers {
    enum Integer: Equatable {
        case int64(Int64)
        /// Above `Int64.max`.
        case uint64(UInt64)
        /// A well-formed integer beyond 64 bits.
        case larger

        /// A sign, then decimal digits or `0x` and hexadecimal ones.
        init?(_ text: [UInt8]) {
            let isNegative = text.first == UInt8(ascii: "-")
            var digits = isNegative || text.first == UInt8(ascii: "+") ? text.dropFirst() : text[...]
            let isHex = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
            if isHex { digits = digits.dropFirst(2) }
            guard !digits.isEmpty else { return nil }
            var (value, isLarger) = (UInt64(0), false)
            for character in digits {
                guard let digit = JSONText.hexDigit(character), isHex || digit < 10 else { return nil }
                let (product, overflow) = value.multipliedReportingOverflow(by: isHex ? 16 : 10)
                let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
                if overflow || carry { isLarger = true }
                value = sum
            }
            self = isLarger ? .larger : Integer(magnitude: value, isNegative: isNegative)
        }

        private init(magnitude: UInt64, isNegative: Bool) {
            if isNegative {
                self = magnitude <= 1 << 63 ? .int64(Int64(truncatingIfNeeded: 0 &- magnitude)) : .larger
            } else {
                self = Int64(exactly: magnitude).map { .int64($0) } ?? .uint64(magnitude)
            }
        }
    }

    enum Real: Equatable {
        case double(Double)
        /// Well-formed, beyond the range of a double or closer to zero than it reaches.
        case outOfRange

        /// A decimal with an optional fraction and exponent, `nan`, `inf` or `infinity` in any case.
        init?(_ text: [UInt8]) {
            guard isDecimal(text) else {
                guard let number = nonFinite(text) else { return nil }
                self = .double(number)
                return
            }
            guard let number = Double(String(decoding: text, as: UTF8.self)) else { return nil }
            let isZero = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }.allSatisfy { $0 &- 0x31 >= 9 }
            self = number.isFinite && (number != 0 || isZero) ? .double(number) : .outOfRange
        }
    }

    private static func nonFinite(_ text: [UInt8]) -> Double? {
        switch String(decoding: text, as: UTF8.self).lowercased() {
        case "nan", "+nan", "-nan": .nan
        case "inf", "+inf", "infinity", "+infinity": .infinity
        case "-inf", "-infinity": -.infinity
        default: nil
        }
    }

    /// `[+-]? (digits [. digits*] | . digits) ([eE] [+-]? digits)?`
    static func isDecimal(_ text: [UInt8]) -> Bool {
        var rest = text[...]
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        let whole = rest.prefix { $0 &- 0x30 < 10 }
        rest = rest.dropFirst(whole.count)
        var digits = whole.count
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix { $0 &- 0x30 < 10 }
            digits += fraction.count
            rest = rest.dropFirst(fraction.count + 1)
        }
        guard digits > 0, let mark = rest.first else { return digits > 0 }
        guard mark | 0x20 == UInt8(ascii: "e") else { return false }
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        return !rest.isEmpty && rest.allSatisfy { $0 &- 0x30 < 10 }
    }
}
