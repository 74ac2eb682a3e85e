import ValueTree

/// Digits of dates and times.
enum CivilText {
    /// Seconds from 1970-01-01 to 2001-01-01.
    static let referenceSince1970 = 978_307_200

    static func padded(_ number: Int, _ digits: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// Of nanoseconds, with the point; nothing for none.
    static func fraction(_ nanoseconds: Int) -> String {
        guard nanoseconds > 0 else { return "" }
        var text = padded(nanoseconds, 9)
        while text.hasSuffix("0") { text.removeLast() }
        return "." + text
    }

    /// Digits alone.
    static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    /// Nanoseconds of the digits after a point; what is finer is left out.
    static func nanoseconds(_ digits: Substring) -> Int? {
        guard digits.utf8.count <= 12, !digits.isEmpty else { return nil }
        return number(Substring((digits + String(repeating: "0", count: 9)).prefix(9)))
    }

    /// `12:30`, `12:30:00`, `12:30:00.5`.
    static func time(_ text: Substring) -> (Int, Int, Int, Int)? {
        let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: ":", omittingEmptySubsequences: false).map { number($0) }
        guard (2...3).contains(parts.count), let hour = parts[0], let minute = parts[1] else { return nil }
        guard let second = parts.count == 3 ? parts[2] : 0, let rest = halves.count == 2 ? nanoseconds(halves[1]) : 0
        else { return nil }
        return (hour, minute, second, rest)
    }
}

/// A date and a time as texts have them: `2026-11-21T12:00:00.5+01:00`, and version 2's `/Date(1795262400000+0060)/`.
struct ODataDateTimeOffset {
    /// On a clock of the place.
    var local: ODataLocalDateTime
    /// Minutes that the place is ahead of UTC; 0 where nothing says so.
    var offset = 0

    init?(_ text: String) {
        guard let moment = text.hasPrefix("/Date(") ? Self(ticks: text) : Self(iso: text) else { return nil }
        self = moment
    }

    private init(_ local: ODataLocalDateTime, _ offset: Int) {
        (self.local, self.offset) = (local, offset)
    }

    private init?(ticks text: String) {
        guard text.hasSuffix(")/") else { return nil }
        let body = text.dropFirst(6).dropLast(2)
        let sign = body.dropFirst().firstIndex { $0 == "+" || $0 == "-" }
        guard let milliseconds = Int(body[..<(sign ?? body.endIndex)]) else { return nil }
        let offset = sign.flatMap { Int(body[$0...]) } ?? 0
        let seconds = Int((Double(milliseconds) / 1000).rounded(.down))
        let rest = (milliseconds - seconds * 1000) * 1_000_000
        self.init(
            ODataLocalDateTime(seconds: seconds - CivilText.referenceSince1970 + offset * 60, nanoseconds: rest), offset
        )
    }

    private init?(iso text: String) {
        let halves = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, let day = ODataDate.parts(halves[0]),
            let date = ODataDate(year: day[0], month: day[1], day: day[2])
        else { return nil }
        let place = halves[1].firstIndex { "Z+-".contains($0) } ?? halves[1].endIndex
        guard let (hour, minute, second, rest) = CivilText.time(halves[1][..<place]),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second),
            let offset = Self.offset(halves[1][place...])
        else { return nil }
        let seconds = hour * 3600 + minute * 60 + second
        self.init(ODataLocalDateTime(date, seconds: seconds, nanoseconds: rest), offset)
    }

    private static func offset(_ text: Substring) -> Int? {
        guard let sign = text.first, sign != "Z" else { return text.count <= 1 ? 0 : nil }
        guard let time = CivilText.time(text.dropFirst()) else { return nil }
        return (time.0 * 60 + time.1) * (sign == "-" ? -1 : 1)
    }
}
