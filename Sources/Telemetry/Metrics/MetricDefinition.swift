/// The meaning of one metric: its name, help text, type and labels. Declared once, in ``MetricCatalogue``.
public struct MetricDefinition: Sendable, Equatable {
    /// The behaviour of a metric's values.
    public enum Kind: Sendable, Equatable {
        /// Only grows, from 0 at the start of the process. Its name ends with `_total`.
        case counter
        /// Goes up and down.
        case gauge
        /// Observations counted by upper bounds, in the metric's unit. The last bound, infinity, is not listed.
        case histogram([Double])

        /// As the exposition formats call it.
        public var word: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    /// By Prometheus' rules: base units, `_total` for counters.
    public let name: String
    /// One sentence.
    public let help: String
    /// The behaviour of its values.
    public let kind: Kind
    /// Names of its labels, each with what bounds its values. Never something that a caller sends.
    public let labels: [Label]

    /// One label.
    public struct Label: Sendable, Equatable, ExpressibleByStringLiteral {
        /// As it is written.
        public let name: String
        /// Which values there are.
        public let values: String

        /// A label and what bounds its values.
        public init(_ name: String, _ values: String) {
            self.name = name
            self.values = values
        }

        public init(stringLiteral name: String) { self.init(name, "") }
    }

    /// Declares a metric. For the catalogue and for tests.
    public init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.help = help
        self.kind = kind
        self.labels = labels
    }

    /// Bounds of what takes from half a millisecond to ten seconds.
    public static let requestBounds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
}
