import Foundation
import ValueTree

/// A moment, to the nanosecond, with the offset of the place that wrote it.
public struct ODataDateTime: Sendable, Hashable, ODataCalendarValue {
    /// On a clock in UTC.
    public let utc: ODataLocalDateTime
    /// Minutes that the place is ahead of UTC.
    public let offset: Int

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

    public init?(odata json: WireValue) {
        guard let text = json.stringValue, let moment = ODataDateTimeOffset(text) else { return nil }
        (utc, offset) = (
            ODataLocalDateTime(
                seconds: moment.local.seconds - moment.offset * 60, nanoseconds: moment.local.nanoseconds),
            moment.offset
        )
    }

    public var date: Date {
        Date(timeIntervalSinceReferenceDate: Double(utc.seconds) + Double(utc.nanoseconds) / 1e9)
    }
    public var literal: ODataLiteral { .dateTime(self) }
    public func json(_ version: ODataVersion) -> WireValue {
        guard version == .v2 else { return .string(text) }
        let place = (offset < 0 ? "-" : "+") + CivilText.padded(abs(offset), 4)
        return .string("/Date(\(utc.milliseconds)\(place))/")
    }
    public var text: String {
        let local = ODataLocalDateTime(seconds: utc.seconds + offset * 60, nanoseconds: utc.nanoseconds)
        guard offset != 0 else { return local.text + "Z" }
        let place = CivilText.padded(abs(offset) / 60) + ":" + CivilText.padded(abs(offset) % 60)
        return local.text + (offset < 0 ? "-" : "+") + place
    }
}
