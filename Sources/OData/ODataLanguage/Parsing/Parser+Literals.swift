/// Any literal, as its first characters tell.
extension Parser {
    /// `primitiveLiteral`, followed by nothing that would belong to it.
    mutating func literal() throws(Mismatch) -> Literal {
        try countNode()
        if isVersion2 { return try version2Literal() }
        if peek() == UInt8(ascii: "'") { return .string(try string()) }
        for kind in LiteralKind.allCases {
            if let literal = try attempt({ parser throws(Mismatch) in try parser.bounded(kind) }) { return literal }
        }
        throw mismatch("a literal")
    }

    /// In an order in which none takes the start of another.
    private enum LiteralKind: CaseIterable {
        case word, guid, dateTimeOffset, date, timeOfDay, number, duration, binary, geography, geometry, enumeration
    }

    private mutating func bounded(_ kind: LiteralKind) throws(Mismatch) -> Literal {
        let literal = try literal(of: kind)
        if let next = peek(), next.isIdentifier || next == UInt8(ascii: "'") { throw mismatch("the literal's end") }
        return literal
    }

    private mutating func literal(of kind: LiteralKind) throws(Mismatch) -> Literal {
        switch kind {
        case .word: try word()
        case .guid: try guid()
        case .dateTimeOffset: try dateTimeOffset()
        case .date: try date()
        case .timeOfDay: try timeOfDay()
        case .number: try number()
        case .duration: try quotedDuration()
        case .binary: try binary()
        case .geography: try geography()
        case .geometry: try geometry()
        case .enumeration: try enumeration()
        }
    }

    /// `null`, `true` and `false`
    private mutating func word() throws(Mismatch) -> Literal {
        if skip(word: "null", ignoringCase: false) { return .null }
        return .boolean(try boolean())
    }

    /// `boolean`, whose case does not matter in URLs.
    mutating func boolean() throws(Mismatch) -> Bool {
        if skip(word: "true") { return true }
        try expect(word: "false")
        return false
    }
}

/// Values as payloads, headers and CSDL have them: nothing percent-encoded, no quotes. Section 7 of the ABNF.
extension Parser {
    /// `booleanValue`
    mutating func booleanValue() throws(Mismatch) -> Bool {
        if skip(word: "true", ignoringCase: false) { return true }
        try expect(word: "false", ignoringCase: false)
        return false
    }

    mutating func nullLiteral() throws(Mismatch) -> Literal {
        try expect(word: "null", ignoringCase: false)
        return .null
    }

    /// `enumLiteral`, whose type may be left out since 4.01.
    mutating func optionallyTypedEnumeration() throws(Mismatch) -> Literal {
        if peek() != UInt8(ascii: "'") { return try enumeration() }
        return .enumeration(
            WrittenName(nil, ""), members: try quoted { parser throws(Mismatch) in try parser.enumerationMembers() })
    }

    /// `primitiveValue`: the first kind that takes all of the text.
    mutating func primitiveValue() throws(Mismatch) -> Literal {
        for kind in ValueKind.allCases {
            if let value = try attempt({ parser throws(Mismatch) in
                let value = try parser.value(of: kind)
                guard parser.isAtEnd else { throw parser.mismatch("the end") }
                return value
            }) {
                return value
            }
        }
        throw mismatch("a value")
    }

    private enum ValueKind: CaseIterable {
        case boolean, guid, duration, dateTimeOffset, date, timeOfDay, number, enumeration, shape, binary
    }

    private mutating func value(of kind: ValueKind) throws(Mismatch) -> Literal {
        switch kind {
        case .boolean: .boolean(try booleanValue())
        case .guid: try guid()
        case .duration: try duration()
        case .dateTimeOffset: try dateTimeOffset()
        case .date: try date()
        case .timeOfDay: try timeOfDay()
        case .number: try number()
        case .enumeration: .enumeration(WrittenName(nil, ""), members: try enumerationMembers())
        case .shape: .geography(try shapeWithSRID())
        case .binary: .binary(try binaryValue())
        }
    }
}

/// Numbers, section 7 of the ABNF.
extension Parser {
    /// `SIGN`. A plain `+` that means a space is one by now (``RequestTarget/init(_:version:limits:)``).
    mutating func sign() -> String? {
        if skip("-") { return "-" }
        return skip("+") ? "+" : nil
    }

    /// `decimalLiteral`, `doubleLiteral`, `singleLiteral` and their values: the exact digits, without a leading `+`.
    mutating func number() throws(Mismatch) -> Literal {
        if let special = notFinite() { return special }
        var text = sign() == "-" ? "-" : ""
        text += try digits()
        if peek() == UInt8(ascii: ".") {
            at += 1
            text += "." + (try digits())
        }
        if let letter = peek(), letter.lowercased == UInt8(ascii: "e") {
            at += 1
            text += "e" + (sign() ?? "")
            text += try digits()
        }
        return .number(text, suffix: nil)
    }

    /// `nanInfinity`
    private mutating func notFinite() -> Literal? {
        let literal: Literal? =
            if skip(word: "NaN", ignoringCase: false) {
                .notANumber
            } else if skip(word: "INF", ignoringCase: false) {
                .infinity(negative: false)
            } else if skip(word: "-INF", ignoringCase: false) {
                .infinity(negative: true)
            } else {
                nil
            }
        return literal
    }

    /// `int16Literal` and the like: a sign and at most so many digits.
    mutating func integer(_ count: Int, signed: Bool = true) throws(Mismatch) -> Literal {
        let minus = signed && sign() == "-" ? "-" : ""
        return .number(minus + (try digits(1...count)), suffix: nil)
    }

    /// `guid`, in lower case.
    mutating func guid() throws(Mismatch) -> Literal {
        var text = ""
        for (index, count) in [8, 4, 4, 4, 12].enumerated() {
            if index > 0 {
                try expect("-")
                text += "-"
            }
            for _ in 0..<count {
                guard let byte = peek(), byte.hexDigit != nil else { throw mismatch("a hexadecimal digit") }
                text.unicodeScalars.append(Unicode.Scalar(byte.lowercased))
                at += 1
            }
        }
        return .guid(text)
    }
}

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

/// Dates, times and durations, section 7 of the ABNF.
///
/// The grammar bounds each field; that a month has so many days is checked where the value is bound to a type.
extension Parser {
    /// `date`
    mutating func date() throws(Mismatch) -> Literal { .date(try dateText()) }

    mutating func dateText() throws(Mismatch) -> String {
        var text = skip("-") ? "-" : ""
        text += try year()
        try expect("-")
        text += "-" + (try field(1...12))
        try expect("-")
        text += "-" + (try field(1...31))
        return text
    }

    /// At least four digits; a leading zero only of exactly four.
    private mutating func year() throws(Mismatch) -> String {
        let leadingZero = peek() == UInt8(ascii: "0")
        return try digits(leadingZero ? 4...4 : 4...Int.max)
    }

    /// Two digits in a range, refused at the first digit that leads out of it.
    private mutating func field(_ range: ClosedRange<Int>) throws(Mismatch) -> String {
        var value = 0
        for weight in [10, 1] {
            guard let byte = peek(), byte.isDigit else { throw mismatch("a digit") }
            value += Int(byte - UInt8(ascii: "0")) * weight
            guard value <= range.upperBound, weight == 10 || value >= range.lowerBound else {
                throw mismatch("\(range.lowerBound) to \(range.upperBound)")
            }
            at += 1
        }
        return value < 10 ? "0\(value)" : "\(value)"
    }

    /// `timeOfDayLiteral`
    mutating func timeOfDay() throws(Mismatch) -> Literal { .timeOfDay(try timeText()) }

    mutating func timeText() throws(Mismatch) -> String {
        var text = try field(0...23)
        try expect(":")
        text += ":" + (try field(0...59))
        guard skip(":") else { return text }
        text += ":" + (try field(0...60))  // 60: leap seconds
        guard peek() == UInt8(ascii: "."), peek(1)?.isDigit == true else { return text }
        at += 1
        return text + "." + (try digits(1...12))
    }

    /// `dateTimeOffsetLiteral`
    mutating func dateTimeOffset() throws(Mismatch) -> Literal {
        var text = try dateText()
        try expect(word: "T")
        text += "T" + (try timeText())
        if skip(word: "Z") { return .dateTimeOffset(text + "Z") }
        guard let sign = sign() else { throw mismatch("`Z` or an offset") }
        text += sign + (try field(0...23))
        try expect(":")
        return .dateTimeOffset(text + ":" + (try field(0...59)))
    }

    /// `durationValue`. At least one field, and one behind `T`, as XML Schema's `dayTimeDuration` demands; the grammar
    /// is only an approximation of it.
    mutating func duration() throws(Mismatch) -> Literal {
        var text = skip("-") ? "-P" : "P"
        try expect(word: "P")
        let days = try amount("D")
        text += days
        guard skip(word: "T") else {
            guard !days.isEmpty else { throw mismatch("days or `T`") }
            return .duration(text)
        }
        let time = try amount("H") + amount("M") + amount("S")
        guard !time.isEmpty else { throw mismatch("hours, minutes or seconds") }
        return .duration(text + "T" + time)
    }

    /// Digits and a unit, with a fraction only of seconds; empty where there are none of the unit.
    private mutating func amount(_ unit: Unicode.Scalar) throws(Mismatch) -> String {
        try attempt { parser throws(Mismatch) in
            var text = try parser.digits()
            if unit == "S", parser.skip(".") { text += "." + (try parser.digits()) }
            guard let letter = parser.peek(), letter.lowercased == UInt8(ascii: unit).lowercased else {
                throw parser.mismatch("`\(unit)`")
            }
            parser.at += 1
            return text + String(Character(unit))
        } ?? ""
    }
}
