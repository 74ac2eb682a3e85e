import AdapterKit

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

extension WireDate {
    static func + (date: WireDate, duration: Duration) -> WireDate {
        WireDate(secondsSinceReferenceDate: date.secondsSinceReferenceDate + duration.inSeconds)
    }

    /// The seconds from the right one to the left one.
    static func - (left: WireDate, right: WireDate) -> Double {
        left.secondsSinceReferenceDate - right.secondsSinceReferenceDate
    }
}
