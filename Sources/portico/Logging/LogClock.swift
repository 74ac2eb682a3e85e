import Foundation

/// The time of a log line, as RFC 3339 has it, in UTC and with milliseconds. What the second shows is made once.
struct LogClock {
    private var second = -1
    private var text = ""

    /// Such as `2026-11-21T13:50:12.073Z`.
    mutating func text(of time: Date) -> String {
        let milliseconds = Int((time.timeIntervalSince1970 * 1_000).rounded(.down))
        if milliseconds / 1_000 != second {
            second = milliseconds / 1_000
            let style = Date.ISO8601FormatStyle.iso8601.year().month().day().time(includingFractionalSeconds: false)
            text = Date(timeIntervalSince1970: Double(second)).formatted(style)
        }
        let fraction = String(milliseconds % 1_000)
        return "\(text).\(String(repeating: "0", count: 3 - fraction.utf8.count))\(fraction)Z"
    }
}
