/// `$search`, section 2 of the ABNF.
///
/// `AND`, `OR` and `NOT` are operators only between or before operands; elsewhere they are words to look for.
extension Parser {
    mutating func search() throws(Mismatch) -> SearchExpression {
        skipSpace()
        if peek() == UInt8(ascii: "'") { return try incompleteSearch() }
        return try searchExpression()
    }

    /// `searchExpr-incomplete`: what a person has typed so far, in single quotes.
    private mutating func incompleteSearch() throws(Mismatch) -> SearchExpression {
        .incomplete(try string())
    }

    /// Alternatives joined by `OR`.
    mutating func searchExpression() throws(Mismatch) -> SearchExpression {
        try nested { parser throws(Mismatch) in
            try parser.row { parser throws(Mismatch) in try parser.searchAlternatives() }
        }
    }

    private mutating func searchAlternatives() throws(Mismatch) -> SearchExpression {
        var left = try searchConjunction()
        while let right = try attempt({ parser throws(Mismatch) in
            try parser.expectSpace()
            try parser.expect(word: "OR", ignoringCase: false)
            try parser.expectSpace()
            return try parser.searchConjunction()
        }) {
            try lean()
            left = .or(left, right)
        }
        return left
    }

    /// Operands joined by `AND` or by nothing.
    private mutating func searchConjunction() throws(Mismatch) -> SearchExpression {
        var left = try searchOperand()
        while let right = try attempt({ parser throws(Mismatch) in try parser.conjunct() }) {
            try lean()
            left = .and(left, right)
        }
        return left
    }

    private mutating func conjunct() throws(Mismatch) -> SearchExpression {
        try expectSpace()
        if let right = try attempt({ parser throws(Mismatch) in
            try parser.expect(word: "AND", ignoringCase: false)
            try parser.expectSpace()
            return try parser.searchOperand()
        }) {
            return right
        }
        if try attempt({ parser throws(Mismatch) in
            try parser.expect(word: "OR", ignoringCase: false)
            try parser.expectSpace()
            return try parser.searchOperand()
        }) != nil {
            throw mismatch("`AND`")  // the alternative is the caller's
        }
        return try searchOperand()
    }

    private mutating func searchOperand() throws(Mismatch) -> SearchExpression {
        try countNode()
        if let denied = try attempt({ parser throws(Mismatch) in
            try parser.expect(word: "NOT", ignoringCase: false)
            try parser.expectSpace()
            return try parser.nested { parser throws(Mismatch) in try parser.searchOperand() }
        }) {
            return .not(denied)
        }
        switch peek() {
        case UInt8(ascii: "("): return try searchGroup()
        case UInt8(ascii: "\""): return try searchPhrase()
        default: return try searchWord()
        }
    }

    private mutating func searchGroup() throws(Mismatch) -> SearchExpression {
        try expect("(")
        skipSpace()
        let inside = try searchExpression()
        try close()
        return inside
    }

    private mutating func searchPhrase() throws(Mismatch) -> SearchExpression {
        try expect("\"")
        let start = at
        while let character = current, character.byte != UInt8(ascii: "\""), !character.isRaw(UInt8(ascii: "#")) {
            at += 1
        }
        guard at > start, let phrase = text(start, at) else { throw mismatch("a phrase") }
        try expect("\"")
        if let next = peek(), !next.isSpace, next != UInt8(ascii: ")"), next != UInt8(ascii: ";") {
            throw mismatch("a space")
        }
        return .phrase(phrase)
    }

    private mutating func searchWord() throws(Mismatch) -> SearchExpression {
        let start = at
        while let character = current, character.fitsSearchWord, at > start || character.byte != UInt8(ascii: "'") {
            at += 1
        }
        note("a letter", at: at)
        guard at > start, let word = text(start, at) else { throw mismatch("a word") }
        return .word(word)
    }
}

extension SourceText.Character {
    /// Neither space, parenthesis nor double quote, however they are written, and no plain `;`, `&` or `#`.
    fileprivate var fitsSearchWord: Bool {
        switch byte {
        case 0x00...0x20, UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "\""): false
        case UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "#"): isEncoded
        default: true
        }
    }
}
