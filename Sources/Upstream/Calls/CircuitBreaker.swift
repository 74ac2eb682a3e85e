import AdapterKit

/// Spares a server that fails, and those who would wait for it: one server's state, by the outcomes of what it was asked.
///
/// Closed until ``UpstreamLimits/failures`` outcomes in a row failed; then nobody asks for ``UpstreamLimits/rest``. After
/// that one request is let through to see (half open), and nobody else until its outcome is there: a success closes it,
/// a failure doubles the rest, up to ``UpstreamLimits/longestRest``. A state machine without a clock.
struct CircuitBreaker: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Outcome: Sendable {
        /// It answered, whatever it said about the request.
        case answered
        case failed
        /// Nobody waited for the end, so nothing was learnt.
        case unknown
    }

    /// One request's leave to be sent, to be given back with its outcome.
    struct Passage: Sendable {
        fileprivate let isTrial: Bool
        fileprivate let opening: Int
    }

    enum Event: Sendable, Equatable {
        case opened(rest: Duration)
        case closed
    }

    private enum State {
        case closed(failures: Int)
        case open(until: Instant)
        case halfOpen
    }

    private let limits: UpstreamLimits
    private var state = State.closed(failures: 0)
    private var rest: Duration
    /// Which opening this is. An outcome of a request that was sent before it says nothing about it.
    private var opening = 0

    init(_ limits: UpstreamLimits) {
        self.limits = limits
        rest = limits.rest
    }

    /// Nil where the server rests.
    mutating func enter(now: Instant) -> Passage? {
        switch state {
        case .closed: return Passage(isTrial: false, opening: opening)
        case .open(let until) where now >= until:
            state = .halfOpen
            return Passage(isTrial: true, opening: opening)
        case .open, .halfOpen: return nil
        }
    }

    /// What the outcome changed; nil: nothing that anybody need be told.
    mutating func leave(_ passage: Passage, _ outcome: Outcome, now: Instant) -> Event? {
        guard passage.opening == opening else { return nil }
        switch (state, outcome) {
        case (.closed, .answered): state = .closed(failures: 0)
        case (.closed(let failures), .failed):
            state = .closed(failures: failures + 1)
            if failures + 1 >= limits.failures { return open(now) }
        case (.halfOpen, .answered) where passage.isTrial: return close()
        case (.halfOpen, .failed) where passage.isTrial:
            rest = min(rest * 2, limits.longestRest)
            return open(now)
        // The next one tries.
        case (.halfOpen, .unknown) where passage.isTrial: state = .open(until: now)
        default: break
        }
        return nil
    }

    private mutating func open(_ now: Instant) -> Event {
        opening += 1
        state = .open(until: now + rest)
        return .opened(rest: rest)
    }

    private mutating func close() -> Event {
        rest = limits.rest
        state = .closed(failures: 0)
        return .closed
    }
}
