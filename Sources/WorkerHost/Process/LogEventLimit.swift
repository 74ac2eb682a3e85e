import AdapterKit
import AdapterProtocol

/// Bounds what one worker logs by the protocol's events: how often, and how long a line is. A state machine; what it writes
/// to its standard output is bounded by ``OutputLines``.
public struct LogEventLimit: Sendable {
    /// Messages in each second; the number of further ones is logged with the next.
    public static let messagesPerSecond = 200
    /// Bytes of a message's text, of each value's, and of a value's name.
    public static let textBytes = 2_048
    /// Values of a message.
    public static let values = 32

    private var second: ContinuousClock.Instant?
    private var messages = 0
    private var omitted = 0

    /// Nothing was logged yet.
    public init() {}

    /// The messages to be logged now, in this order.
    public mutating func take(_ message: LogMessage, at now: ContinuousClock.Instant) -> [LogMessage] {
        var all: [LogMessage] = []
        if second.map({ now - $0 >= .seconds(1) }) ?? true {
            if omitted > 0 {
                all.append(
                    LogMessage(
                        level: .warning, text: "adapter logs too much",
                        values: [.init(key: "omittedMessages", value: .count(omitted))]))
            }
            (second, messages, omitted) = (now, 0, 0)
        }
        guard messages < Self.messagesPerSecond else {
            omitted += 1
            return all
        }
        messages += 1
        all.append(
            LogMessage(
                level: message.level, text: Self.cut(message.text),
                values: message.values.prefix(Self.values).map {
                    .init(key: Self.cut($0.key), value: Self.cut($0.value))
                }))
        return all
    }

    private static func cut(_ value: LogValue) -> LogValue {
        if case .text(let text) = value { .text(cut(text)) } else { value }
    }

    private static func cut(_ text: String) -> String { text.cut(toBytes: textBytes) }
}
