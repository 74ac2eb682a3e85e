/// Counts and measures what an adapter does, for operators: `portico_adapter_counter_total` and `portico_adapter_gauge`,
/// with the adapter's name and the metric's as labels.
///
/// A name is of the pattern `[a-z][a-z0-9_]{0,63}`, and an adapter has at most 64; what is refused is logged once. Both functions return
/// at once. A worker sends what was counted some ten times a second, so what was counted just before it is killed is lost.
/// Safe to use from any task.
public struct AdapterMetrics: Sendable {
    /// Receives each change. Called from any task; it returns at once.
    public typealias Sink = @Sendable (MetricChange) -> Void

    private let sink: Sink

    /// Metrics that pass their changes to `sink`.
    public init(_ sink: @escaping Sink) {
        self.sink = sink
    }

    /// Metrics that drop every change.
    public static let discarding = AdapterMetrics { _ in }

    /// Makes a change that comes from elsewhere, such as another process.
    public func change(_ change: MetricChange) { sink(change) }

    /// Adds to a counter, which begins with 0 and goes on where the adapter's process restarts. A negative amount changes nothing.
    public func increment(_ name: StaticString, by amount: Int = 1) {
        guard amount >= 0 else { return }
        sink(MetricChange(name.description, .increment(Int64(amount))))
    }

    /// Sets a gauge, which stays until it is set again. What is no finite number changes nothing.
    public func set(_ name: StaticString, _ value: Double) {
        guard value.isFinite else { return }
        sink(MetricChange(name.description, .set(value)))
    }
}

/// One change of a metric, as the host receives it.
public struct MetricChange: Sendable, Equatable {
    /// A change of a metric.
    public enum Action: Sendable, Equatable {
        /// The counter grows.
        case increment(Int64)
        /// The gauge has this value from now on.
        case set(Double)
    }

    /// The metric's name, which the host checks.
    public let name: String
    /// The change of the metric.
    public let action: Action

    /// Creates a change with these values.
    public init(_ name: String, _ action: Action) {
        self.name = name
        self.action = action
    }
}
