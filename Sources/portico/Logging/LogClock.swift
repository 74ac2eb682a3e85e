import Foundation

/// The time of a log line, as RFC 3339 has it, in UTC and with milliseconds. What the second shows is made once.
struct LogClock {
    private var second = -1
    /// Such as `2026-11-21T13:50:12.073Z`.
    private var text: [UInt8] = []

    mutating func text(of time: Date) -> [UInt8] {
        let milliseconds = Int((time.timeIntervalSince1970 * 1_000).rounded(.down))
        if milliseconds / 1_000 != second {
            second = milliseconds / 1_000
            let style = Date.ISO8601FormatStyle.iso8601.year().month().day().time(includingFractionalSeconds: false)
            text = Array("\(Date(timeIntervalSince1970: Double(second)).formatted(style)).000Z".utf8)
        }
        show(milliseconds % 1_000)
        return text
    }

    /// In the three digits before the last letter.
    private mutating func show(_ fraction: Int) {
        var rest = fraction
        for place in 2...4 {
            text[text.count - place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }
}
