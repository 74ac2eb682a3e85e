import AdapterKit
import Synchronization

/// Counts of an upstream's calls since the start.
public struct UpstreamFigures: Sendable, Equatable {
    /// Calls by what they ended with: a status's class such as `2xx`, or the kind of a failure.
    public var calls: [String: Int] = [:]
    /// Tries beyond the first of a call.
    public var retries = 0
    /// Calls whose head took at most that long, in seconds, by ``bounds``; the last one: all.
    public var durations = [Int](repeating: 0, count: Self.bounds.count + 1)
    /// Seconds of all calls together.
    public var durationSum = 0.0
    /// The last failure but those by an open circuit, for operators; nil: none yet.
    public var lastFailure: UpstreamFailure? {
        didSet { lastFailureTime = lastFailure == nil ? nil : .now }
    }
    /// When it was; nil: there was none yet.
    public private(set) var lastFailureTime: ContinuousClock.Instant?

    /// Upper bounds of ``durations`` in seconds.
    public static let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    public init() {}

    mutating func note(_ result: String, after duration: Duration) {
        calls[result, default: 0] += 1
        let seconds = duration / .seconds(1)
        for (index, bound) in Self.bounds.enumerated() where seconds <= bound { durations[index] += 1 }
        durations[Self.bounds.count] += 1
        durationSum += seconds
    }
}

/// The present state of an upstream.
public struct UpstreamStatus: Sendable {
    public var name: UpstreamName
    public var url: UpstreamAddress
    /// The kind of its credentials, as it is configured.
    public var credentials: String
    public var active: Int
    public var waiting: Int
    /// Servers whose circuit breaker is open; after its time one request is let through (half open).
    public var openCircuits: [String]
    /// When the first of them lets a request through; nil: none is open.
    public var nextAttempt: ContinuousClock.Instant?
    public var figures: UpstreamFigures
}
