import Glibc
import Synchronization

/// The value of the `Date` header field (RFC 9110, section 5.6.7), made anew when the second changes.
final class DateHeader: Sendable {
    private struct Last {
        var second = 0
        var text = ""
        var line = ""

        mutating func renew() {
            let now = time(nil)
            guard second != now else { return }
            second = now
            text = DateHeader.text(of: now)
            line = "Date: \(text)\r\n"
        }
    }

    private let last = Mutex(Last())

    func text() -> String {
        last.withLock { last in
            last.renew()
            return last.text
        }
    }

    /// As HTTP/1.1 writes it: name, value and the line's end.
    func line() -> String {
        last.withLock { last in
            last.renew()
            return last.line
        }
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func text(of second: Int) -> String {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return """
            \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) \
            \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT
            """
    }
}
