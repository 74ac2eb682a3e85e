import ValueTree

/// A date and a time of day in no place's time, to the nanosecond: version 2's `Edm.DateTime`.
public struct ODataLocalDateTime: Sendable, Hashable, Comparable, ODataCalendarValue {
    /// As a clock in UTC would count them, from 2001-01-01.
    public let seconds: Int
    public let nanoseconds: Int

    /// - Parameter seconds: since 2001-01-01T00:00:00 on a clock that no summer changes.
    public init(seconds: Int, nanoseconds: Int = 0) {
        (self.seconds, self.nanoseconds) = (seconds, min(max(0, nanoseconds), 999_999_999))
    }

    /// - Parameter seconds: of the day.
    public init(_ date: ODataDate, seconds: Int, nanoseconds: Int = 0) {
        let civil = CivilTime(year: date.year, month: date.month, day: date.day, hour: 0, minute: 0, second: 0)
        self.init(seconds: (civil?.secondsSinceReferenceDate ?? 0) + seconds, nanoseconds: nanoseconds)
    }

    public init?(odata json: WireValue) {
        guard let text = json.stringValue, let moment = ODataDateTimeOffset(text) else { return nil }
        self = moment.local
    }

    public var literal: ODataLiteral { .localDateTime(self) }
    public func json(_ version: ODataVersion) -> WireValue {
        .string(version == .v2 ? "/Date(\(milliseconds))/" : text + "Z")
    }
    public var date: ODataDate {
        let civil = CivilTime(secondsSinceReferenceDate: seconds)
        return ODataDate(year: civil?.year ?? 0, month: civil?.month ?? 1, day: civil?.day ?? 1)!
    }
    /// `2026-11-21T12:00:00`, with a fraction where there is one.
    public var text: String {
        let civil = CivilTime(secondsSinceReferenceDate: seconds)
        let time = [civil?.hour ?? 0, civil?.minute ?? 0, civil?.second ?? 0].map { CivilText.padded($0) }
        return "\(date.text)T" + time.joined(separator: ":") + CivilText.fraction(nanoseconds)
    }
    /// Since 1970.
    var milliseconds: Int { (seconds + CivilText.referenceSince1970) * 1000 + nanoseconds / 1_000_000 }

    public static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
