/// Where an adapter writes what operators should know: a constant message, values beside it.
///
/// The host decides what becomes of it. A façade of our own, because swift-log in this library would exist twice in a
/// process that loads plugins.
public struct Log: Sendable {
    public typealias Sink = @Sendable (LogLevel, StaticString, [(key: StaticString, value: LogValue)]) -> Void

    private let sink: Sink

    public init(_ sink: @escaping Sink) {
        self.sink = sink
    }

    public static let discarding = Log { _, _, _ in }

    public func callAsFunction(
        _ level: LogLevel, _ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]
    ) {
        sink(level, message, values.map { (key: $0.key, value: $0.value) })
    }

    public func info(_ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]) {
        self(.info, message, values)
    }

    public func warning(_ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]) {
        self(.warning, message, values)
    }

    public func error(_ message: StaticString, _ values: KeyValuePairs<StaticString, LogValue> = [:]) {
        self(.error, message, values)
    }
}

public enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// A value that may be logged. A ``Secret`` has no conversion to it but its redaction.
public enum LogValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    case text(String)
    case number(Int64)
    case flag(Bool)

    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .flag(value) }

    public static func count(_ number: Int) -> LogValue { .number(Int64(number)) }
}
