import AdapterKit

/// Instants in version 2's three spellings. A stored instant is a date, a stored day a text.
enum Version2Instant {
    static func instant(_ stored: WireValue) -> WireDate? {
        switch stored {
        case .date(let instant): instant
        case .string(let day): WireDate(rfc3339: "\(day)T00:00:00Z")
        default: nil
        }
    }

    /// Without an offset.
    static func text(_ stored: WireValue) -> String? {
        if case .string(let day) = stored { return "\(day)T00:00:00" }
        return instant(stored)?.rfc3339.map { String($0.dropLast()) }
    }

    /// An offset, and seconds, may be left out; without an offset it is UTC.
    static func value(text: String) -> WireDate? {
        if let instant = CalendarText.instant(text) { return instant }
        return CalendarText.instant("\(text)Z")
    }

    /// Milliseconds since 1970 within `/Date(…)/`; a millisecond's parts are left out.
    static func ticks(_ stored: WireValue) -> Int64? {
        guard let instant = instant(stored), instant.secondsSinceReferenceDate.magnitude < 1e12 else { return nil }
        // To microseconds first: a double has 0.123 as a little less.
        let microseconds = (instant.secondsSinceReferenceDate * 1_000_000).rounded()
        return Int64((microseconds / 1_000).rounded(.down)) + Int64(WireDate.unixEpochOffset) * 1_000
    }

    /// The instant of `/Date(1705314600000+0060)/`. The offset, in minutes, says where it was told, not when it was.
    static func value(ticks text: String) -> WireDate? {
        guard text.hasPrefix("/Date("), text.hasSuffix(")/") else { return nil }
        let inner = text.dropFirst(6).dropLast(2)
        guard let first = inner.first else { return nil }
        let number = String(first) + inner.dropFirst().prefix { $0 != "+" && $0 != "-" }
        let offset = inner.dropFirst(number.count)
        guard offset.isEmpty || Int(offset) != nil, let milliseconds = Int64(number),
            milliseconds.magnitude < 400_000_000_000_000
        else { return nil }
        return WireDate(
            secondsSinceReferenceDate: Double(milliseconds - Int64(WireDate.unixEpochOffset) * 1_000) / 1_000)
    }
}
