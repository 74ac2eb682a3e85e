import AdapterKit

/// Has failed calls of one upstream logged once a second for each kind of failure: a program may make thousands that fail at once.
/// A state machine.
struct FailureLogLimit {
    private struct Logged {
        var at: ContinuousClock.Instant
        var omitted = 0
    }

    private var logged: [UpstreamFailure.Kind: Logged] = [:]

    /// The number of failures of the kind that were left out since the last that was logged; nil: this one is left out.
    mutating func take(_ kind: UpstreamFailure.Kind, at now: ContinuousClock.Instant) -> Int? {
        guard let last = logged[kind], now - last.at < .seconds(1) else {
            defer { logged[kind] = Logged(at: now) }
            return logged[kind]?.omitted ?? 0
        }
        logged[kind]?.omitted += 1
        return nil
    }
}
