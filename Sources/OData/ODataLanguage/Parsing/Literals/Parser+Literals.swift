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
