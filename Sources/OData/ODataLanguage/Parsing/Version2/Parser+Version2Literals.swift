import AdapterKit
import ODataModel

/// OData 2.0's literals ([MS-ODATA], section 2.2.2; OData 2.0, Overview, section 6):
///
///     null  true  12  12L  1.5M  1.5d  1.5f  NaN  INF  'it''s'  X'0AFF'  binary'0AFF'  guid'…'
///     datetime'2024-01-15T10:30[:00[.123]]'  datetimeoffset'2024-01-15T10:30:00Z'  time'PT10H30M'
///
/// They become the cases that version 4's literals become: `datetime` an instant in UTC, `time` a time of day.
extension Parser {
    mutating func version2Literal() throws(Mismatch) -> Literal {
        if peek() == UInt8(ascii: "'") { return .string(try string()) }
        for kind in Version2Kind.allCases {
            if let literal = try attempt({ parser throws(Mismatch) in
                let literal = try parser.version2Literal(of: kind)
                if let next = parser.peek(), next.isIdentifier || next == UInt8(ascii: "'") {
                    throw parser.mismatch("the literal's end")
                }
                return literal
            }) {
                return literal
            }
        }
        throw mismatch("a literal")
    }

    /// In an order in which none takes the start of another.
    private enum Version2Kind: CaseIterable {
        case null, boolean, dateTimeOffset, dateTime, time, guid, binary, number
    }

    private mutating func version2Literal(of kind: Version2Kind) throws(Mismatch) -> Literal {
        switch kind {
        case .null: return try nullLiteral()
        case .boolean: return .boolean(try booleanValue())
        case .dateTimeOffset:
            try expect(word: "datetimeoffset")
            return try quoted { parser throws(Mismatch) in try parser.instant(hasOffset: true) }
        case .dateTime:
            try expect(word: "datetime")
            return try quoted { parser throws(Mismatch) in try parser.instant(hasOffset: false) }
        case .time:
            try expect(word: "time")
            return try quoted { parser throws(Mismatch) in try parser.time() }
        case .guid:
            try expect(word: "guid")
            return try quoted { parser throws(Mismatch) in try parser.guid() }
        case .binary:
            if !skip(word: "x") { try expect(word: "binary") }
            return .binary(try quoted { parser throws(Mismatch) in try parser.hexadecimal() })
        case .number: return try suffixedNumber()
        }
    }

    /// With seconds and an offset, whatever was left out. Some clients put a `Z` where no offset belongs.
    private mutating func instant(hasOffset: Bool) throws(Mismatch) -> Literal {
        let start = at
        var text = try dateText()
        try expect(word: "T")
        let time = try timeText()
        text += "T" + time + (time.utf8.count == 5 ? ":00" : "")
        text += hasOffset ? try offset() : "Z"
        if !hasOffset { _ = skip(word: "Z") }
        guard WireDate(rfc3339: text) != nil else { throw noValue("a day of the calendar", from: start) }
        return .dateTimeOffset(text)
    }

    private mutating func offset() throws(Mismatch) -> String {
        if skip(word: "Z") { return "Z" }
        guard let sign = sign() else { throw mismatch("`Z` or an offset") }
        let hours = try digits(2...2)
        try expect(":")
        return "\(sign)\(hours):\(try digits(2...2))"
    }

    /// The time since midnight, told as a duration.
    private mutating func time() throws(Mismatch) -> Literal {
        let start = at
        guard case .duration(let text) = try duration(), let time = Version2Time.timeOfDay(text) else {
            throw noValue("a duration of less than a day", from: start)
        }
        return .timeOfDay(time)
    }

    private mutating func hexadecimal() throws(Mismatch) -> [UInt8] {
        var bytes: [UInt8] = []
        while let high = peek()?.hexDigit {
            at += 1
            guard let low = peek()?.hexDigit else { throw mismatch("a hexadecimal digit") }
            at += 1
            bytes.append(high << 4 | low)
        }
        note("a hexadecimal digit", at: at)
        return bytes
    }

    private mutating func suffixedNumber() throws(Mismatch) -> Literal {
        if skip(word: "Nan", ignoringCase: false) { return .notANumber }
        let number = try number()
        guard let letter = peek(), letter.isLetter else { return number }
        let suffixes: [UInt8: Literal.NumberSuffix] = [
            UInt8(ascii: "l"): .long, UInt8(ascii: "m"): .decimal, UInt8(ascii: "d"): .double,
            UInt8(ascii: "f"): .single,
        ]
        guard let suffix = suffixes[letter.lowercased] else { throw mismatch("`L`, `M`, `D` or `F`") }
        at += 1
        guard case .number(let digits, _) = number else { return number }
        return .number(digits, suffix: suffix)
    }
}

/// Literals of version 2 by themselves.
public enum Version2Literal {
    /// Percent-decoded text as one literal; nil for what is not one literal and nothing else.
    public static func read(_ text: some StringProtocol) -> Literal? {
        guard let source = try? SourceText(String(text), as: .plain) else { return nil }
        var parser = Parser(source)
        parser.language = .v2
        return try? parser.whole { parser throws(Parser.Mismatch) in try parser.version2Literal() }
    }
}
