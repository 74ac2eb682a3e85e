import ValueTree

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

    public var literal: ODataLiteral { .date(self) }
    public func json(_ version: ODataVersion) -> WireValue {
        version == .v2 ? ODataLocalDateTime(self, seconds: 0).json(version) : .string(text)
    }
    public var text: String { CivilText.padded(year, 4) + "-" + CivilText.padded(month) + "-" + CivilText.padded(day) }

    public static func < (left: ODataDate, right: ODataDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    static func parts(_ text: Substring) -> [Int]? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { CivilText.number($0) }
        return parts.count == 3 && !parts.contains(nil) ? parts.compactMap(\.self) : nil
    }
}
