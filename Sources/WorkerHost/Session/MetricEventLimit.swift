/// The limit of how often one worker may report its metrics. A state machine.
struct MetricEventLimit {
    enum Outcome {
        case pass
        /// The first that is too much, which is worth a line in the log.
        case refuseFirst
        case refuse
    }

    static let eventsPerSecond = 200

    private var second: ContinuousClock.Instant?
    private var events = 0
    private var hasRefused = false

    mutating func take(at now: ContinuousClock.Instant) -> Outcome {
        if second.map({ now - $0 >= .seconds(1) }) ?? true { (second, events) = (now, 0) }
        guard events >= Self.eventsPerSecond else {
            events += 1
            return .pass
        }
        defer { hasRefused = true }
        return hasRefused ? .refuse : .refuseFirst
    }
}
