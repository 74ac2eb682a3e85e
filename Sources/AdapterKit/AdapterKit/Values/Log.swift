/// Writes messages for operators: a constant text, with values as metadata.
///
/// The host decides what becomes of a message. AdapterKit has a log type of its own because swift-log in this library
/// would exist twice in a process that loads plugins.
public struct Log: Sendable {
    /// Receives each message. Called from any task; it returns at once.
    public typealias Sink = @Sendable (LogMessage) -> Void

    private let sink: Sink

    /// A log that passes its messages to `sink`.
    public init(_ sink: @escaping Sink) {
        self.sink = sink
    }

    /// A log that drops every message.
    public static let discarding = Log { _ in }

    /// Logs a message. Its text is a literal, so that no input becomes part of it.
    public func callAsFunction(
        _ level: LogLevel, _ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]
    ) {
        sink(
            LogMessage(
                level: level, text: message.description,
                values: values.map { LogMessage.Item(key: $0.key.description, value: $0.value) }))
    }

    /// Logs at the level `info`.
    public func info(_ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]) {
        self(.info, message, values)
    }

    /// Logs at the level `warning`.
    public func warning(_ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]) {
        self(.warning, message, values)
    }

    /// Logs at the level `error`.
    public func error(_ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]) {
        self(.error, message, values)
    }
}

/// One logged message, as the host receives it.
public struct LogMessage: Sendable, Equatable {
    /// A value with its name.
    public struct Item: Sendable, Equatable {
        /// The name of the value.
        public let key: String
        /// The value.
        public let value: LogValue

        /// A value with its name.
        public init(key: String, value: LogValue) {
            self.key = key
            self.value = value
        }
    }

    /// The severity of the message.
    public let level: LogLevel
    /// The constant text.
    public let text: String
    /// The values, in the order in which they were given.
    public let values: [Item]

    /// A message with its values.
    public init(level: LogLevel, text: String, values: [Item]) {
        self.level = level
        self.text = text
        self.values = values
    }
}

/// The severity of a message, as in swift-log.
public enum LogLevel: String, Sendable, CaseIterable {
    /// From the least severe to the most.
    case trace, debug, info, notice, warning, error, critical
}

/// A value that may be logged. A ``Secret`` has no conversion to it but its redaction.
public enum LogValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    case text(String)
    /// An integer.
    case number(Int64)
    /// True or false.
    case flag(Bool)

    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .flag(value) }

    /// A count as a number.
    public static func count(_ number: Int) -> LogValue { .number(Int64(number)) }
}

/// A text that must not be seen: every description of it is a placeholder, and only ``reveal()`` gives it out.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let text: String

    /// Creates a secret with these values.
    public init(_ text: String) {
        self.text = text
    }

    /// The text itself, for the one place that needs it.
    public func reveal() -> String { text }

    public var description: String { "<secret>" }
    public var debugDescription: String { "<secret>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
