import AdapterKit

/// The date of a cookie's `Expires` attribute, read as browsers read it (RFC 6265, section 5.1.1): every form that HTTP
/// ever had, and whatever else holds a time of day, a day, a month and a year.
package enum CookieDate {
    /// Nil for a text that is no such date.
    package static func parse(_ text: String) -> WireDate? {
        var found = Parts()
        for token in text.utf8.split(whereSeparator: isDelimiter) { found.take(token) }
        return found.date
    }

    /// What was found so far: the first token that fits counts, as the algorithm says.
    private struct Parts {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        mutating func take(_ token: Substring.UTF8View) {
            if time == nil, let found = CookieDate.time(token) {
                time = found
            } else if day == nil, let found = CookieDate.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = CookieDate.month(token) {
                month = found
            } else if year == nil, let found = CookieDate.number(token, digits: 2...4) {
                year = CookieDate.fullYear(found)
            }
        }

        var date: WireDate? {
            guard let time, let day, let month, let year, year >= 1601, time.hour <= 23, time.minute <= 59,
                time.second <= 59
            else { return nil }
            func padded(_ number: Int, _ width: Int = 2) -> String {
                let digits = String(number)
                return String(repeating: "0", count: max(0, width - digits.count)) + digits
            }
            // Refuses a day that the month does not have.
            return WireDate(
                rfc3339: "\(padded(year, 4))-\(padded(month))-\(padded(day))"
                    + "T\(padded(time.hour)):\(padded(time.minute)):\(padded(time.second))Z")
        }
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Digits at the token's beginning; what follows them must not be one.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix { (0x30...0x39).contains($0) }
        guard digits.contains(leading.count) else { return nil }
        return Int(Substring(leading))
    }

    private static func time(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, (1...2).contains(fields[0].count), (1...2).contains(fields[1].count),
            let hour = Int(Substring(fields[0])), let minute = Int(Substring(fields[1])), hour >= 0, minute >= 0,
            let second = number(fields[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func month(_ token: Substring.UTF8View) -> Int? {
        let name = Substring(token.prefix(3)).lowercased()
        return months.firstIndex(of: name).map { $0 + 1 }
    }

    private static func fullYear(_ year: Int) -> Int {
        switch year {
        case 70...99: year + 1900
        case 0...69: year + 2000
        default: year
        }
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
