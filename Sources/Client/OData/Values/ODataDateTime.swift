import Foundation
import ValueTree

/// A moment, with every digit of its second that OData's texts have, and the offset of the place that wrote it.
public struct ODataDateTime: Sendable, Hashable, ODataCalendarValue {
    /// On a clock in UTC.
    public let utc: ODataLocalDateTime
    /// Minutes that the place is ahead of UTC.
    public let offset: Int

    /// `offset` in minutes, for writing only.
    public init(utc: ODataLocalDateTime, offset: Int = 0) {
        (self.utc, self.offset) = (utc, offset)
    }

    /// To the microsecond, which is as much as a `Date` holds.
    public init(_ date: Date, in zone: TimeZone = .gmt) {
        let micros = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded()
        let seconds = (micros / 1_000_000).rounded(.down)
        let rest = Int(micros - seconds * 1_000_000) * 1000
        self.init(
            utc: ODataLocalDateTime(seconds: Int(seconds), nanoseconds: rest),
            offset: zone.secondsFromGMT(for: date) / 60)
    }

    /// Nil where the JSON value is none.
    public init?(odata json: WireValue) {
        guard let text = json.stringValue, let moment = ODataDateTimeOffset(text) else { return nil }
        (utc, offset) = (
            ODataLocalDateTime(
                seconds: moment.local.seconds - moment.offset * 60, attoseconds: moment.local.attoseconds),
            moment.offset
        )
    }

    /// The instant, as far as `Date` is exact.
    public var date: Date {
        Date(timeIntervalSinceReferenceDate: Double(utc.seconds) + Double(utc.nanoseconds) / 1e9)
    }
    /// As a constant of an expression.
    public var literal: ODataLiteral { .dateTime(self) }
    /// As a member of a request's body in that version.
    public func json(_ version: ODataVersion) -> WireValue {
        guard version == .v2 else { return .string(text) }
        let place = (offset < 0 ? "-" : "+") + CivilText.padded(abs(offset), 4)
        return .string("/Date(\(utc.milliseconds)\(place))/")
    }
    public var text: String {
        let local = ODataLocalDateTime(seconds: utc.seconds + offset * 60, attoseconds: utc.attoseconds)
        guard offset != 0 else { return local.text + "Z" }
        let place = CivilText.padded(abs(offset) / 60) + ":" + CivilText.padded(abs(offset) % 60)
        return local.text + (offset < 0 ? "-" : "+") + place
    }
}

/// A date and a time of day in no place's time: version 2's `Edm.DateTime`.
public struct ODataLocalDateTime: Sendable, Hashable, Comparable, ODataCalendarValue {
    /// As a clock in UTC would count them, from 2001-01-01.
    public let seconds: Int
    /// Attoseconds of the second; texts have 12 digits after the point at most.
    let attoseconds: Int
    /// 0 to 999,999,999; what is finer is left out here, but not in ``text``.
    public var nanoseconds: Int { attoseconds / CivilText.nanosecond }

    /// - Parameter seconds: since 2001-01-01T00:00:00 on a clock that no summer changes.
    public init(seconds: Int, nanoseconds: Int = 0) {
        self.init(seconds: seconds, attoseconds: min(max(0, nanoseconds), 999_999_999) * CivilText.nanosecond)
    }

    init(seconds: Int, attoseconds: Int) {
        (self.seconds, self.attoseconds) = (seconds, attoseconds)
    }

    /// - Parameter seconds: of the day.
    public init(_ date: ODataDate, seconds: Int, nanoseconds: Int = 0) {
        self.init(seconds: date.start + seconds, nanoseconds: nanoseconds)
    }

    /// Nil where the JSON value is none.
    public init?(odata json: WireValue) {
        guard let text = json.stringValue, let moment = ODataDateTimeOffset(text) else { return nil }
        self = moment.local
    }

    /// As a constant of an expression.
    public var literal: ODataLiteral { .localDateTime(self) }
    /// As a member of a request's body in that version.
    public func json(_ version: ODataVersion) -> WireValue {
        .string(version == .v2 ? "/Date(\(milliseconds))/" : text + "Z")
    }
    /// The day without the time.
    public var date: ODataDate {
        let civil = CivilTime(secondsSinceReferenceDate: seconds)
        return ODataDate(year: civil?.year ?? 0, month: civil?.month ?? 1, day: civil?.day ?? 1)!
    }
    /// `2026-11-21T12:00:00`, with a fraction where there is one.
    public var text: String {
        let civil = CivilTime(secondsSinceReferenceDate: seconds)
        let time = [civil?.hour ?? 0, civil?.minute ?? 0, civil?.second ?? 0].map { CivilText.padded($0) }
        return "\(date.text)T" + time.joined(separator: ":") + CivilText.fraction(attoseconds)
    }
    /// Since 1970.
    var milliseconds: Int { (seconds + CivilText.referenceSince1970) * 1000 + nanoseconds / 1_000_000 }

    public static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.attoseconds) < (right.seconds, right.attoseconds)
    }
}

/// A day of the calendar, in no place's time.
public struct ODataDate: Sendable, Hashable, Comparable, ODataCalendarValue {
    public let year, month, day: Int

    /// Nil where the month lacks the day; years are 0 to 9999.
    public init?(year: Int, month: Int, day: Int) {
        guard CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0) != nil else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// `2026-11-21`, or what version 2 makes of a day: the moment at which it begins.
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        if let parts = Self.parts(text[...]) {
            self.init(year: parts[0], month: parts[1], day: parts[2])
        } else {
            guard let moment = ODataLocalDateTime(odata: json) else { return nil }
            self = moment.date
        }
    }

    /// As a constant of an expression.
    public var literal: ODataLiteral { .date(self) }
    /// As a member of a request's body in that version.
    public func json(_ version: ODataVersion) -> WireValue {
        version == .v2 ? ODataLocalDateTime(self, seconds: 0).json(version) : .string(text)
    }
    public var text: String { CivilText.padded(year, 4) + "-" + CivilText.padded(month) + "-" + CivilText.padded(day) }

    public static func < (left: ODataDate, right: ODataDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    /// Seconds from 2001-01-01 to its beginning.
    var start: Int {
        CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)?.secondsSinceReferenceDate ?? 0
    }

    static func parts(_ text: Substring) -> [Int]? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { CivilText.number($0) }
        return parts.count == 3 && !parts.contains(nil) ? parts.compactMap(\.self) : nil
    }
}

/// A time of day, with every digit of its second that OData's texts have.
public struct ODataTimeOfDay: Sendable, Hashable, Comparable, ODataPrimitive {
    /// Since midnight, 0 to 86,399.
    public let seconds: Int
    /// Attoseconds of the second; texts have 12 digits after the point at most.
    let attoseconds: Int
    /// 0 to 999,999,999; what is finer is left out here, but not in ``text``.
    public var nanoseconds: Int { attoseconds / CivilText.nanosecond }

    public init?(hour: Int, minute: Int, second: Int = 0, nanoseconds: Int = 0) {
        guard (0...999_999_999).contains(nanoseconds) else { return nil }
        self.init(hour: hour, minute: minute, second: second, attoseconds: nanoseconds * CivilText.nanosecond)
    }

    private init?(hour: Int, minute: Int, second: Int, attoseconds: Int) {
        guard (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second) else { return nil }
        (seconds, self.attoseconds) = (hour * 3600 + minute * 60 + second, attoseconds)
    }

    /// `12:30:00.5`, or version 2's `PT12H30M0.5S`.
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        if text.hasPrefix("P") {
            guard let time = Duration(isoText: text), (0..<86_400).contains(time.components.seconds) else { return nil }
            let (seconds, rest) = time.components
            self.init(
                hour: Int(seconds / 3600), minute: Int(seconds / 60 % 60), second: Int(seconds % 60),
                attoseconds: Int(rest))
        } else {
            guard let time = CivilText.time(text[...]) else { return nil }
            self.init(hour: time.0, minute: time.1, second: time.2, attoseconds: time.3)
        }
    }

    public var literal: ODataLiteral { .timeOfDay(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(version == .v2 ? durationText : text) }
    public var text: String {
        let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { CivilText.padded($0) }
        return parts.joined(separator: ":") + CivilText.fraction(attoseconds)
    }
    var durationText: String {
        "PT\(seconds / 3600)H\(seconds / 60 % 60)M\(seconds % 60)\(CivilText.fraction(attoseconds))S"
    }
    public static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.attoseconds) < (right.seconds, right.attoseconds)
    }
}

extension Duration: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        self.init(isoText: text)
    }

    public var literal: ODataLiteral { .duration(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(isoText) }

    /// `PT90.5S`: an `xs:dayTimeDuration`.
    var isoText: String {
        let isNegative = self < .zero
        let (seconds, attoseconds) = (isNegative ? .zero - self : self).components
        return (isNegative ? "-" : "") + "PT\(seconds)\(CivilText.fraction(Int(attoseconds)))S"
    }

    init?(isoText text: String) {
        let isNegative = text.hasPrefix("-")
        let body = text.drop { $0 == "-" }
        guard body.first == "P" else { return nil }
        let halves = body.dropFirst().split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard let days = Self.sum(halves[0], ["D": 86_400]),
            let rest = halves.count == 2 ? Self.sum(halves[1], ["H": 3600, "M": 60, "S": 1]) : .zero
        else { return nil }
        self = isNegative ? .zero - (days + rest) : days + rest
    }

    private static func sum(_ text: Substring, _ units: [Character: Int]) -> Duration? {
        var (sum, digits) = (Duration.zero, "")
        for letter in text {
            guard let unit = units[letter] else {
                digits.append(letter)
                continue
            }
            let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, let whole = CivilText.number(first), !first.isEmpty,
                let rest = parts.count == 2 && unit == 1 ? CivilText.attoseconds(parts[1]) : parts.count == 1 ? 0 : nil
            else { return nil }
            sum += .seconds(whole * unit) + Duration(secondsComponent: 0, attosecondsComponent: Int64(rest))
            digits = ""
        }
        return digits.isEmpty ? sum : nil
    }
}

/// Digits of dates and times.
enum CivilText {
    /// Seconds from 1970-01-01 to 2001-01-01.
    static let referenceSince1970 = 978_307_200

    static func padded(_ number: Int, _ digits: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// Attoseconds in a nanosecond.
    static let nanosecond = 1_000_000_000

    /// The digits of attoseconds, with the point; nothing for none.
    static func fraction(_ attoseconds: Int) -> String {
        guard attoseconds > 0 else { return "" }
        var text = padded(attoseconds, 18)
        while text.hasSuffix("0") { text.removeLast() }
        return "." + text
    }

    /// Digits alone.
    static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    /// Attoseconds of the digits after a point, of which OData has 12 at most.
    static func attoseconds(_ digits: Substring) -> Int? {
        guard digits.utf8.count <= 12, !digits.isEmpty else { return nil }
        return number(Substring(digits + String(repeating: "0", count: 18 - digits.utf8.count)))
    }

    /// `12:30`, `12:30:00`, `12:30:00.5`.
    static func time(_ text: Substring) -> (Int, Int, Int, Int)? {
        let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: ":", omittingEmptySubsequences: false).map { number($0) }
        guard (2...3).contains(parts.count), let hour = parts[0], let minute = parts[1] else { return nil }
        guard let second = parts.count == 3 ? parts[2] : 0, let rest = halves.count == 2 ? attoseconds(halves[1]) : 0
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
        self.init(ODataLocalDateTime(seconds: date.start + seconds, attoseconds: rest), offset)
    }

    private static func offset(_ text: Substring) -> Int? {
        guard let sign = text.first, sign != "Z" else { return text.count <= 1 ? 0 : nil }
        guard let time = CivilText.time(text.dropFirst()) else { return nil }
        return (time.0 * 60 + time.1) * (sign == "-" ? -1 : 1)
    }
}
