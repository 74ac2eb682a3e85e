import AdapterKit

/// An instant in whole nanoseconds since 1970-01-01T00:00:00Z.
///
/// Instants are compared with now, and with each other after a conversion, in this type only: its sums and comparisons
/// are exact. An instant of the clock is rounded down once, which keeps the order of any two, so an end that is now, or
/// has passed, is never taken for one that is still to come. Instants before 1677 and after 2262 are taken for the
/// first and the last one.
package struct UnixTime: Sendable, Hashable, Comparable, Codable {
    package let nanoseconds: Int64

    package static let distantPast = UnixTime(nanoseconds: .min)

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package init(_ date: WireDate) {
        guard date.wholeSecondsSinceReferenceDate.magnitude < 100_000_000_000 else {
            self.init(nanoseconds: date > .referenceDate ? .max : .min)
            return
        }
        let whole = Int64(date.wholeSecondsSinceReferenceDate)
        let (product, isBeyond) = (whole + Self.referenceDate).multipliedReportingOverflow(by: Self.perSecond)
        let steps = date.ticks - whole * WireDate.ticksPerSecond
        let (sum, isOver) = product.addingReportingOverflow(steps * 100 + date.attoseconds / 1_000_000_000)
        self.init(nanoseconds: isBeyond || isOver ? (whole > 0 ? .max : .min) : sum)
    }

    /// `seconds` since 1970, as in a `NumericDate` (RFC 7519, section 2). What is no number is the first instant.
    package init(seconds: Double) {
        guard seconds.magnitude < 1e11 else {
            self.init(nanoseconds: seconds > 0 ? .max : .min)
            return
        }
        let whole = seconds.rounded(.down)
        let (product, isBeyond) = Int64(whole).multipliedReportingOverflow(by: Self.perSecond)
        let fraction = min(Int64((seconds - whole) * 1e9), Self.perSecond - 1)
        let (sum, isOver) = product.addingReportingOverflow(fraction)
        self.init(nanoseconds: isBeyond || isOver ? (whole > 0 ? .max : .min) : sum)
    }

    /// Seconds since 1970, rounded down.
    package var wholeSeconds: Int { Int(Self.floor(nanoseconds, by: Self.perSecond)) }

    /// Milliseconds since 1970, rounded down.
    package var wholeMilliseconds: Int64 { Self.floor(nanoseconds, by: 1_000_000) }

    package static func < (left: UnixTime, right: UnixTime) -> Bool { left.nanoseconds < right.nanoseconds }

    package static func + (time: UnixTime, duration: Duration) -> UnixTime {
        let (sum, isOver) = time.nanoseconds.addingReportingOverflow(nanoseconds(of: duration))
        return UnixTime(nanoseconds: isOver ? (duration > .zero ? .max : .min) : sum)
    }

    package static func - (time: UnixTime, duration: Duration) -> UnixTime { time + (.zero - duration) }

    /// The time from the right one to the left one.
    package static func - (left: UnixTime, right: UnixTime) -> Duration {
        .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
    }

    /// Rounded down.
    private static func nanoseconds(of duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (product, isBeyond) = seconds.multipliedReportingOverflow(by: perSecond)
        let (sum, isOver) = product.addingReportingOverflow(floor(attoseconds, by: 1_000_000_000))
        return isBeyond || isOver ? (duration > .zero ? .max : .min) : sum
    }

    /// Seconds of 2001 since 1970: the epoch of ``WireDate``.
    private static let referenceDate: Int64 = 978_307_200
    private static let perSecond: Int64 = 1_000_000_000

    private static func floor(_ value: Int64, by divisor: Int64) -> Int64 {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
