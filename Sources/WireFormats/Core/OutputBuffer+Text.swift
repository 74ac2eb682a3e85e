import ValueTree

extension OutputBuffer {
    mutating func appendDecimal(_ number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        appendDecimal(number.magnitude)
    }

    mutating func appendDecimal(_ number: UInt64) {
        reserve(20)
        let count = Self.digitCount(number)
        var rest = number
        for place in stride(from: used + count - 1, through: used, by: -1) {
            base[place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
        used += count
    }

    private static func digitCount(_ number: UInt64) -> Int {
        var (count, bound) = (1, UInt64(10))
        while count < 20, number >= bound {
            count += 1
            bound = count == 20 ? .max : bound &* 10
        }
        return count
    }

    /// A quoted JSON string; only what RFC 8259 demands is escaped.
    mutating func appendJSONString(_ text: UnsafeBufferPointer<UInt8>) {
        append(UInt8(ascii: "\""))
        var position = 0
        while position < text.count {
            let end = SWAR.skipUnescaped(text, from: position)
            append(UnsafeBufferPointer(rebasing: text[position..<end]))
            if end < text.count { appendJSONEscape(text[end]) }
            position = end + 1
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendJSONEscape(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        case 0..<0x20:
            append(byte < 0x10 ? "u000" : "u001")
            append(byte & 15 < 10 ? 0x30 + byte & 15 : 0x61 - 10 + byte & 15)
        default: append(byte)
        }
    }

    /// RFC 3339 text in UTC with the shortest exact fraction.
    mutating func appendRFC3339(_ instant: WireDate) throws(WireFormatError) {
        if let whole = Int64(exactly: instant.secondsSinceReferenceDate), whole.magnitude < 1_000_000_000_000,
            let civil = CivilTime(secondsSinceReferenceDate: Int(whole))
        {
            append(civil)
            return append(UInt8(ascii: "Z"))
        }
        guard let text = instant.rfc3339 else {
            throw WireFormatError(.notRepresentable, "a date outside of the years 0 to 9999 has no text form")
        }
        append(utf8: text)
    }

    /// ``ValueTree/CivilTime/description``, without the String.
    mutating func append(_ civil: CivilTime) {
        appendPair(civil.year / 100)
        appendPair(civil.year % 100)
        append(UInt8(ascii: "-"))
        appendPair(civil.month)
        append(UInt8(ascii: "-"))
        appendPair(civil.day)
        append(UInt8(ascii: "T"))
        appendPair(civil.hour)
        append(UInt8(ascii: ":"))
        appendPair(civil.minute)
        append(UInt8(ascii: ":"))
        appendPair(civil.second)
    }

    /// Two digits.
    private mutating func appendPair(_ number: Int) {
        append(UInt8(truncatingIfNeeded: 0x30 + number / 10))
        append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
    }
}
