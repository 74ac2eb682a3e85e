import ValueTree

/// The date format of header fields, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7). The two obsolete forms,
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`, are read as well and never written.
enum HTTPDate {
    static func text(_ date: WireDate) -> String? {
        let seconds = date.wholeSecondsSinceReferenceDate
        guard let parts = date.cut(toFractionDigits: 0).rfc3339?.split(whereSeparator: { "-T:Z".contains($0) }),
            parts.count == 6, let month = Int(parts[1])
        else { return nil }
        // 2001-01-01 was a Monday.
        let weekday = Int((Double(seconds) / 86_400).rounded(.down)) % 7
        let day = weekdays[(weekday + 7) % 7]
        return "\(day), \(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }

    /// `now`: a year of two digits is the one that is at most 50 years after it.
    static func date(_ text: String, now: WireDate) -> WireDate? {
        let parts = text.split(separator: " ")
        switch parts.count {
        case 6 where parts[5] == "GMT":
            return date(year: parts[3], month: parts[2], day: parts[1], time: parts[4])
        case 5:
            let day = parts[2].utf8.count == 1 ? "0" + parts[2] : parts[2]
            return date(year: parts[4], month: parts[1], day: day, time: parts[3])
        case 4 where parts[3] == "GMT":
            let day = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard day.count == 3, let year = year(of: day[2], now: now) else { return nil }
            return date(year: year, month: day[1], day: day[0], time: parts[2])
        default: return nil
        }
    }

    private static func date(
        year: Substring, month name: Substring, day: Substring, time: Substring
    ) -> WireDate? {
        guard let month = months.firstIndex(of: String(name)) else { return nil }
        let monthText = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return WireDate(rfc3339: "\(year)-\(monthText)-\(day)T\(time)Z")
    }

    /// With its century.
    private static func year(of text: Substring, now: WireDate) -> Substring? {
        guard text.utf8.count == 2, text.allSatisfy(\.isNumber), let year = Int(text),
            let present = now.rfc3339.flatMap({ Int($0.prefix(4)) })
        else { return nil }
        let latest = present + 50
        return Substring(String(latest - (latest - year) % 100))
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
