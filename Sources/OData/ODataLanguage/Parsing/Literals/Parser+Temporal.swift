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
