import Synchronization
import ValueTree

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The value of the `Date` header field, made anew when the second changes.
final class DateHeader: Sendable {
    private struct Last {
        var second = 0
        var text = ""
        var field = ""

        mutating func renew() {
            let now = time(nil)
            guard second != now else { return }
            second = now
            text = HTTPDate.text(WireDate(secondsSince1970: Double(now))) ?? ""
            field = "Date: \(text)\r\n"
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
    func field() -> String {
        last.withLock { last in
            last.renew()
            return last.field
        }
    }
}
