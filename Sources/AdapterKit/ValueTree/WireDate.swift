/// An instant: seconds since 2001-01-01T00:00:00Z, the property list epoch.
///
/// A type of its own instead of Foundation's `Date`, so that the value tree needs no Foundation; the two carry the same
/// number (`Date(timeIntervalSinceReferenceDate:)`).
public struct WireDate: Sendable, Hashable, Comparable {
    /// Seconds between 1970-01-01T00:00:00Z and 2001-01-01T00:00:00Z.
    public static let unixEpochOffset: Double = 978_307_200

    public let secondsSinceReferenceDate: Double

    public init(secondsSinceReferenceDate: Double) {
        self.secondsSinceReferenceDate = secondsSinceReferenceDate
    }

    public init(secondsSince1970: Double) {
        self.init(secondsSinceReferenceDate: secondsSince1970 - Self.unixEpochOffset)
    }

    public var secondsSince1970: Double { secondsSinceReferenceDate + Self.unixEpochOffset }

    public static func < (left: WireDate, right: WireDate) -> Bool {
        left.secondsSinceReferenceDate < right.secondsSinceReferenceDate
    }
}
