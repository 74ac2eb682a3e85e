import ValueTree

/// The scalars of a property list as writers write them.
enum PlainScalars {
    /// `<date>`, twenty characters, `</date>`.
    static let dateLength = 33

    @inline(__always)
    static func isStringEnd(_ text: Span<UInt8>, _ end: Int) -> Bool {
        PlainTag.stringEnd.starts(SWAR.word(text, at: end)) && end &+ 8 < text.count
            && text[end &+ 8] == UInt8(ascii: ">")
    }

    /// The number of the `<integer` at `start` and where its element ends. Up to 18 digits, so that there is no overflow.
    @inline(__always)
    static func integer(_ text: Span<UInt8>, _ start: Int) -> (number: Int64, end: Int)? {
        var position = start &+ 9
        guard position < text.count, text[position &- 1] == UInt8(ascii: ">") else { return nil }
        let isNegative = text[position] == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        let digits = position
        var number: Int64 = 0
        while position < text.count, text[position] &- 0x30 < 10 {
            number = number &* 10 &+ Int64(text[position] &- 0x30)
            position &+= 1
        }
        guard position > digits, position &- digits <= 18, isIntegerEnd(text, position) else { return nil }
        return (isNegative ? 0 &- number : number, position &+ 10)
    }

    @inline(__always)
    private static func isIntegerEnd(_ text: Span<UInt8>, _ end: Int) -> Bool {
        PlainTag.integerEnd.starts(SWAR.word(text, at: end)) && end &+ 9 < text.count
            && text[end &+ 8] == UInt8(ascii: "r") && text[end &+ 9] == UInt8(ascii: ">")
    }

    /// The seconds of the `<date>` at `start`, in UTC.
    @inline(__always)
    static func date(_ text: Span<UInt8>, _ start: Int) -> Double? {
        guard PlainTag.dateEnd.starts(SWAR.word(text, at: start &+ 26)),
            let civil = CivilTime(utc: text, at: start &+ 6)
        else { return nil }
        return Double(civil.secondsSinceReferenceDate)
    }
}

extension CivilTime {
    /// `2026-11-21T08:03:02Z`; nil for anything else.
    fileprivate init?(utc text: Span<UInt8>, at start: Int) {
        func two(_ place: Int) -> Int {
            let (tens, ones) = (text[start &+ place] &- 0x30, text[start &+ place &+ 1] &- 0x30)
            return tens < 10 && ones < 10 ? Int(tens) * 10 + Int(ones) : -1_000_000
        }
        guard start &+ 20 <= text.count, text[start &+ 4] == UInt8(ascii: "-"), text[start &+ 7] == UInt8(ascii: "-"),
            text[start &+ 10] == UInt8(ascii: "T"), text[start &+ 13] == UInt8(ascii: ":"),
            text[start &+ 16] == UInt8(ascii: ":"), text[start &+ 19] == UInt8(ascii: "Z")
        else { return nil }
        self.init(
            year: two(0) * 100 + two(2), month: two(5), day: two(8), hour: two(11), minute: two(14), second: two(17))
    }
}
