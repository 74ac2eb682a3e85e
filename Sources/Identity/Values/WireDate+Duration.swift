import AdapterKit

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }

    /// In seconds, rounded up.
    var wholeSecondsUp: Int { Int(components.seconds) + (components.attoseconds > 0 ? 1 : 0) }
}

extension WireDate {
    static func + (date: WireDate, duration: Duration) -> WireDate {
        WireDate(secondsSinceReferenceDate: date.secondsSinceReferenceDate + duration.inSeconds)
    }

    /// The time from the right one to the left one, of instants that were rounded down: where it has lasted for some
    /// nanoseconds, it is not less.
    static func - (left: WireDate, right: WireDate) -> Duration { UnixTime(left) - UnixTime(right) }
}
