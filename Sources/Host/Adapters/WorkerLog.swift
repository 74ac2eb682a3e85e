import AdapterKit
import Synchronization
import WorkerHost

/// The log of a worker's adapter. The host's log is there later than the adapter.
final class WorkerLog: Sendable {
    /// Not the function itself: a lock's value is generic, and each use of a function in one leaves it wrapped once more.
    private struct Target {
        let sink: Log.Sink
    }

    private let target = Mutex<Target?>(nil)
    private let events = Mutex(LogEventLimit())

    func use(_ sink: @escaping Log.Sink) { target.withLock { $0 = Target(sink: sink) } }

    func write(_ message: LogMessage) { target.withLock { $0 }?.sink(message) }

    /// What the program logs itself, as far as ``LogEventLimit`` lets it through.
    func writeEvent(_ message: LogMessage) {
        for message in events.withLock({ $0.take(Self.named(message), at: .now) }) { write(message) }
    }

    /// What a line of the log says of itself is the host's; a value of such a name gets another one.
    private static func named(_ message: LogMessage) -> LogMessage {
        let values = message.values.map { value in
            own.contains(value.key) ? LogMessage.Item(key: "adapter.\(value.key)", value: value.value) : value
        }
        return LogMessage(level: message.level, text: message.text, values: values)
    }

    private static let own: Set<String> = ["caller", "endpoint", "level", "message", "requestId", "source", "time"]
}
