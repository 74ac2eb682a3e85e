import ValueTree

/// The date format of header fields, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7). Of the obsolete forms
/// none is read: no client has sent one for decades, and an unread date only costs a full answer.
enum HTTPDate {
    static func text(_ date: WireDate) -> String? {
        let seconds = date.secondsSinceReferenceDate.rounded(.down)
        guard
            let parts = WireDate(secondsSinceReferenceDate: seconds).rfc3339?.split(whereSeparator: {
                "-T:Z".contains($0)
            }),
            parts.count == 6, let month = Int(parts[1])
        else { return nil }
        // 2001-01-01 was a Monday.
        let weekday = Int((seconds / 86_400).rounded(.down)) % 7
        let day = weekdays[(weekday + 7) % 7]
        return "\(day), \(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }

    static func date(_ text: String) -> WireDate? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let monthText = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return WireDate(rfc3339: "\(parts[3])-\(monthText)-\(parts[1])T\(parts[4])Z")
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
