/// Texts in quotes, section 7 of the ABNF: strings, and what has a prefix before the quote.
extension Parser {
    /// `stringLiteral`: two quotes inside are one. In a path an unencoded `/` ends the segment and so is an error.
    mutating func string() throws(Mismatch) -> String {
        try expect("'")
        var bytes: [UInt8] = []
        while let character = current {
            if isInPath && character.isRaw(UInt8(ascii: "/")) { break }
            at += 1
            if character.byte == UInt8(ascii: "'") {
                guard skip("'") else {
                    note("`'`", at: at)
                    return try utf8(bytes)
                }
            }
            bytes.append(character.byte)
        }
        throw mismatch("`'`")
    }

    private mutating func utf8(_ bytes: [UInt8]) throws(Mismatch) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw mismatch("a text in UTF-8") }
        return text
    }

    /// `binaryValue`, base64url with or without padding.
    mutating func binaryValue() throws(Mismatch) -> [UInt8] {
        var bytes: [UInt8] = []
        var bits = 0
        var held = 0
        while let value = peek().flatMap(Self.base64) {
            held = held << 6 | Int(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                // Cannot trap: eight bits.
                bytes.append(UInt8(held >> bits & 0xFF))
            }
            held &= (1 << bits) - 1
            at += 1
        }
        note("a letter of base64url", at: at)
        guard held == 0, bits != 6 else { throw mismatch("a whole byte in base64url") }
        let padding = bits == 4 ? 2 : bits == 2 ? 1 : 0
        if padding > 0, skip("=") {
            for _ in 1..<padding { try expect("=") }
        }
        return bytes
    }

    private static func base64(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }

    /// `binaryLiteral`
    mutating func binary() throws(Mismatch) -> Literal {
        try expect(word: "binary")
        return .binary(try quoted { parser throws(Mismatch) in try parser.binaryValue() })
    }

    /// `durationLiteral`, whose prefix is optional since 4.01.
    mutating func quotedDuration(prefixed: Bool = true) throws(Mismatch) -> Literal {
        if !skip(word: "duration"), prefixed { throw mismatch("`duration`") }
        return try quoted { parser throws(Mismatch) in try parser.duration() }
    }

    mutating func quoted<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(Mismatch) -> T {
        try expect("'")
        let value = try rule(&self)
        try expect("'")
        return value
    }

    /// `enumLiteral` with its type.
    mutating func enumeration() throws(Mismatch) -> Literal {
        let type = try qualifiedName()
        return .enumeration(type, members: try quoted { parser throws(Mismatch) in try parser.enumerationMembers() })
    }

    /// `enumValue`: names or numbers, joined by commas.
    mutating func enumerationMembers() throws(Mismatch) -> [String] {
        var members = [try enumerationMember()]
        while skip(",") { members.append(try enumerationMember()) }
        note("`,`", at: at)
        return members
    }

    private mutating func enumerationMember() throws(Mismatch) -> String {
        if let name = try attempt({ parser throws(Mismatch) in try parser.identifier() }) { return name }
        guard case .number(let digits, _) = try integer(19) else { throw mismatch("a member") }
        return digits
    }
}
