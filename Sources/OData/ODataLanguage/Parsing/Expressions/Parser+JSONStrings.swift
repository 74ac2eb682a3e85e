/// `stringInUrl`: a JSON string as it may stand in a URL, section 5 of the ABNF.
extension Parser {
    mutating func stringInURL() throws(Mismatch) -> String {
        try expect("\"")
        try countNode()
        var text: [UInt8] = []
        while let byte = peek(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") {
                text += Array(String(try escaped()).utf8)
            } else {
                guard byte >= 0x20 else { throw mismatch("no control character") }
                text.append(byte)
                at += 1
            }
        }
        try expect("\"")
        guard let string = String(validating: text, as: UTF8.self) else { throw mismatch("a text in UTF-8") }
        return string
    }

    private mutating func escaped() throws(Mismatch) -> Unicode.Scalar {
        at += 1
        guard let letter = peek() else { throw mismatch("an escape") }
        let plain: [UInt8: Unicode.Scalar] = [
            UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
            UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
        ]
        if let scalar = plain[letter] {
            at += 1
            return scalar
        }
        guard letter == UInt8(ascii: "u") else { throw mismatch("an escape") }
        at += 1
        return try scalar()
    }

    /// Four hexadecimal digits, or eight of a surrogate pair.
    private mutating func scalar() throws(Mismatch) -> Unicode.Scalar {
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), skip("\\"), skip("u") else { throw mismatch("a surrogate pair") }
        let trail = try codeUnit()
        guard UTF16.isTrailSurrogate(trail) else { throw mismatch("a surrogate pair") }
        let value = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00)
        guard let scalar = Unicode.Scalar(value) else { throw mismatch("a character") }
        return scalar
    }

    private mutating func codeUnit() throws(Mismatch) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = peek()?.hexDigit else { throw mismatch("a hexadecimal digit") }
            unit = unit << 4 | UInt16(digit)
            at += 1
        }
        return unit
    }
}
