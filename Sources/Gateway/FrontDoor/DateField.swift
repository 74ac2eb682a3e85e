import Synchronization
import ValueTree

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The value of the `Date` header field, made anew when the second changes.
final class DateField: Sendable {
    private let last = Mutex<(second: Int, text: String)>((0, ""))

    func text() -> String {
        let second = time(nil)
        return last.withLock { last in
            if last.second != second {
                last = (second, HTTPDate.text(WireDate(secondsSince1970: Double(second))) ?? "")
            }
            return last.text
        }
    }
}
