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
