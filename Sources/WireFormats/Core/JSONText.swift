import ValueTree

/// The escapes of JSON strings (RFC 8259, section 7), and decimals as JSON numbers.
enum JSONText {
    /// A decimal in a form that our own reader takes back: a large integer in full digits (an exponent would make it a
    /// real, and one beyond the doubles at that). Nil where there is none.
    static func number(_ number: WireDecimal) -> String? {
        guard number.exponent > 0, number.digits != "0" else {
            let text = number.description
            guard let double = Double(text), double.isFinite, double != 0 || number.isZero else {
                return number.exponent == 0 ? text : nil
            }
            return text
        }
        guard number.digits.utf8.count + number.exponent <= WireDecimal.maximumDigits else { return nil }
        return (number.isNegative ? "-" : "") + number.digits + String(repeating: "0", count: number.exponent)
    }

    /// The UTF-8 of an escaped string that a reader has validated.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var rest = bytes
        while let escape = rest.firstIndex(of: UInt8(ascii: "\\")) {
            text.append(contentsOf: rest[..<escape])
            rest = rest[(escape + 1)...]
            appendEscape(&rest, to: &text)
        }
        text.append(contentsOf: rest)
        return text
    }

    private static func appendEscape(_ rest: inout ArraySlice<UInt8>, to text: inout [UInt8]) {
        switch rest.removeFirst() {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: UTF8.encode(takeScalar(&rest))!)
        case let literal: text.append(literal)
        }
    }

    /// The scalar of `XXXX` or of `XXXX\uXXXX`, a pair of surrogates.
    private static func takeScalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar {
        let unit = takeUnit(&rest)
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit)! }
        rest = rest.dropFirst(2)
        let low = UInt32(takeUnit(&rest) & 0x3FF)
        return Unicode.Scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | low))!
    }

    private static func takeUnit(_ rest: inout ArraySlice<UInt8>) -> UInt16 {
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 4 | UInt16(hexDigit($1)!) }
    }

    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
