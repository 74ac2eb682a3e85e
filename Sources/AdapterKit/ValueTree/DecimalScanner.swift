/// The grammar of RFC 8259's `number`, with an optional leading `+`, over UTF-8.
struct DecimalScanner {
    private let text: [UInt8]
    private var position = 0

    init(_ utf8: String.UTF8View) {
        text = Array(utf8)
    }

    mutating func scan() -> WireDecimal? {
        let negative = takes("-")
        if !negative { _ = takes("+") }
        let whole = takeDigits()
        guard !whole.isEmpty, whole.count == 1 || whole[0] != UInt8(ascii: "0") else { return nil }
        var fraction: [UInt8] = []
        if takes(".") {
            fraction = takeDigits()
            guard !fraction.isEmpty else { return nil }
        }
        guard let exponent = takeExponent(), position == text.count else { return nil }
        let digits = (whole + fraction).drop { $0 == UInt8(ascii: "0") }
        guard digits.count <= WireDecimal.maximumDigits else { return nil }
        let value = exponent - fraction.count
        guard value.magnitude <= WireDecimal.maximumExponent + WireDecimal.maximumDigits else { return nil }
        return WireDecimal(
            isNegative: negative, digits: digits.isEmpty ? "0" : String(decoding: digits, as: UTF8.self),
            exponent: value)
    }

    private mutating func takeExponent() -> Int? {
        guard takes("e") || takes("E") else { return 0 }
        let negative = takes("-")
        if !negative { _ = takes("+") }
        let digits = takeDigits()
        guard !digits.isEmpty else { return nil }
        guard let value = Int(String(decoding: digits, as: UTF8.self)), value <= WireDecimal.maximumExponent else {
            return nil
        }
        return negative ? -value : value
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func takeDigits() -> [UInt8] {
        let start = position
        while position < text.count, text[position] &- 0x30 < 10 { position += 1 }
        return Array(text[start..<position])
    }
}
