/// Single characters, words and white space. The rules of section 9 of the ABNF.
extension Parser {
    mutating func skip(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        at += 1
        return true
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool { skip(UInt8(ascii: character)) }

    mutating func expect(_ character: Unicode.Scalar) throws(Mismatch) {
        guard skip(UInt8(ascii: character)) else { throw mismatch("`\(character)`") }
    }

    /// A character that only counts when it is not percent-encoded.
    mutating func skipRaw(_ character: Unicode.Scalar) -> Bool {
        guard current?.isRaw(UInt8(ascii: character)) == true else { return false }
        at += 1
        return true
    }

    mutating func expectRaw(_ character: Unicode.Scalar) throws(Mismatch) {
        guard skipRaw(character) else { throw mismatch("`\(character)`") }
    }

    /// `word`, letter by letter, so that the place of the first wrong letter is known.
    mutating func expect(word: StaticString, ignoringCase: Bool = true) throws(Mismatch) {
        let start = at
        for index in 0..<word.utf8CodeUnitCount {
            let wanted = word.utf8Start[index]
            guard let found = peek(), found == wanted || (ignoringCase && found.lowercased == wanted.lowercased) else {
                let failed = mismatch("`\(word)`")
                at = start
                throw failed
            }
            at += 1
        }
    }

    mutating func skip(word: StaticString, ignoringCase: Bool = true) -> Bool {
        let start = at
        for index in 0..<word.utf8CodeUnitCount {
            let wanted = word.utf8Start[index]
            guard let found = peek(), found == wanted || (ignoringCase && found.lowercased == wanted.lowercased) else {
                at = start
                return false
            }
            at += 1
        }
        return true
    }

    /// `BWS`
    mutating func skipSpace() {
        while let byte = peek(), byte.isSpace { at += 1 }
    }

    /// `RWS`
    mutating func expectSpace() throws(Mismatch) {
        guard let byte = peek(), byte.isSpace else { throw mismatch("a space") }
        skipSpace()
    }

    /// `BWS COMMA BWS`
    mutating func skipComma() -> Bool {
        let start = at
        skipSpace()
        guard skip(UInt8(ascii: ",")) else {
            note("`,`", at: at)
            at = start
            return false
        }
        skipSpace()
        return true
    }

    /// `BWS CLOSE`
    mutating func close() throws(Mismatch) {
        skipSpace()
        try expect(")")
    }

    mutating func commaSeparated<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(Mismatch) -> [T] {
        var items = [try rule(&self)]
        while skipComma() { items.append(try rule(&self)) }
        return items
    }

    /// `1*DIGIT`, or as many as are said.
    @discardableResult
    mutating func digits(_ count: ClosedRange<Int> = 1...Int.max) throws(Mismatch) -> String {
        let start = at
        while let byte = peek(), byte.isDigit, at - start < count.upperBound { at += 1 }
        note("a digit", at: at)
        guard at - start >= count.lowerBound else { throw mismatch("a digit") }
        return text(start, at) ?? ""
    }
}
