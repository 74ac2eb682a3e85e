/// The number of an upstream's calls that may be tries again, so that retries cannot multiply the load on a server that fails.
///
/// A token bucket: each call adds a share of a token, each try again takes a whole one. A burst is possible from the
/// start. A state machine without a clock.
struct RetryBudget: Sendable {
    /// Tokens that are kept at most.
    static let burst = 10.0

    private let share: Double
    private(set) var tokens = Self.burst

    /// `percent`: of all calls.
    init(percent: Int) {
        share = Double(max(0, percent)) / 100
    }

    mutating func noteCall() {
        tokens = min(Self.burst, tokens + share)
    }

    /// False where the budget is spent.
    mutating func takeRetry() -> Bool {
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
