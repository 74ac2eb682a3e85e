import AdapterKit
import Synchronization

/// The circuit breaker of one server, driven by the outcomes of its requests.
///
/// Closed until ``UpstreamLimits/failures`` consecutive outcomes failed; then open for ``UpstreamLimits/rest``, during
/// which no request is sent. After that one request is let through (half open), and no other before its outcome: a
/// success closes the breaker, a failure doubles the time, up to ``UpstreamLimits/longestRest``. An operator's request is let
/// through before the time is over, and its failure leaves that as it was: looking at a server does not prolong its rest.
/// A state machine without a clock.
struct CircuitBreaker: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Outcome: Sendable {
        /// It answered, with any status.
        case answered
        case failed
        /// The call was cancelled, so nothing was learnt.
        case unknown
    }

    /// One request's leave to be sent, to be given back with its outcome.
    struct Permit: Sendable {
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
    /// The end of the rest that an operator's request under way interrupts.
    private var interrupted: Instant?

    init(_ limits: UpstreamLimits) {
        self.limits = limits
        rest = limits.rest
    }

    var isClosed: Bool { if case .closed = state { true } else { false } }
    /// When it lets a request through; nil: it does now, or waits for the outcome of one.
    var opensUntil: Instant? { if case .open(let until) = state { until } else { nil } }

    /// Nil where the server rests. `isOperatorTry`: an operator asks, who does not wait for the rest's end.
    mutating func enter(now: Instant, isOperatorTry: Bool = false) -> Permit? {
        switch state {
        case .closed: return Permit(isTrial: false, opening: opening)
        case .open(let until) where now >= until || isOperatorTry:
            state = .halfOpen
            interrupted = now < until ? until : nil
            return Permit(isTrial: true, opening: opening)
        case .open, .halfOpen: return nil
        }
    }

    /// Ends a call, and returns what the outcome changed; nil: nothing to report.
    mutating func leave(_ permit: Permit, _ outcome: Outcome, now: Instant) -> Event? {
        guard permit.opening == opening else { return nil }
        switch (state, outcome) {
        case (.closed, .answered): state = .closed(failures: 0)
        case (.closed(let failures), .failed):
            state = .closed(failures: failures + 1)
            if failures + 1 >= limits.failures { return open(now) }
        case (.halfOpen, .answered) where permit.isTrial: return close()
        case (.halfOpen, .failed) where permit.isTrial && interrupted != nil:
            opening += 1
            state = .open(until: interrupted ?? now)
        case (.halfOpen, .failed) where permit.isTrial:
            rest = min(rest * 2, limits.longestRest)
            return open(now)
        // The next one tries.
        case (.halfOpen, .unknown) where permit.isTrial: state = .open(until: now)
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

/// A ``CircuitBreaker`` for each server, and the log's line when one opens or closes.
final class CircuitBreakers: Sendable {
    /// One request's way through, to be ended with its outcome. Without one it is ``CircuitBreaker/Outcome/unknown``.
    final class Passage: Sendable {
        private struct Report {
            let send: @Sendable (CircuitBreaker.Outcome) -> Void
        }

        private let report: Mutex<Report?>

        init(_ report: (@Sendable (CircuitBreaker.Outcome) -> Void)?) {
            self.report = Mutex(report.map { Report(send: $0) })
        }

        deinit { leave(.unknown) }

        func leave(_ outcome: CircuitBreaker.Outcome) {
            let report = report.withLock { report in
                defer { report = nil }
                return report
            }
            report?.send(outcome)
        }
    }

    private let settings: UpstreamSettings
    private let log: Log
    /// Never more than there are configured servers: no other is asked.
    private let breakers = Mutex<[UpstreamOrigin: CircuitBreaker]>([:])

    init(_ settings: UpstreamSettings, log: Log) {
        self.settings = settings
        self.log = log
    }

    /// Servers whose breaker is not closed, and until when.
    var open: [(origin: UpstreamOrigin, until: CircuitBreaker.Instant?)] {
        breakers.withLock { breakers in
            breakers.compactMap { origin, breaker in breaker.isClosed ? nil : (origin, breaker.opensUntil) }
        }.sorted { $0.origin.description < $1.origin.description }
    }

    /// Throws ``UpstreamFailure/Kind/circuitOpen`` where the server is not asked at the moment.
    func enter(_ origin: UpstreamOrigin) throws(UpstreamFailure) -> Passage {
        guard settings.origins.contains(origin) else { return Passage(nil) }
        let limits = settings.limits
        let permit = breakers.withLock {
            $0[origin, default: CircuitBreaker(limits)].enter(now: .now, isOperatorTry: CallContext.isOperatorTry)
        }
        guard let permit else {
            throw UpstreamFailure(.circuitOpen, of: settings.name, detail: "the circuit breaker of \(origin) is open")
        }
        return Passage { [self] in leave(origin, permit, $0) }
    }

    private func leave(_ origin: UpstreamOrigin, _ permit: CircuitBreaker.Permit, _ outcome: CircuitBreaker.Outcome) {
        let event = breakers.withLock { breakers -> CircuitBreaker.Event? in
            let wasClosed = breakers[origin]?.isClosed ?? true
            let event = breakers[origin]?.leave(permit, outcome, now: .now)
            // One that opens again after a try has been reported.
            return wasClosed || event == .closed ? event : nil
        }
        switch event {
        case .opened(let rest):
            log.warning(
                "circuit breaker opened",
                [
                    "upstream": .text(settings.name.text), "server": .text(origin.description),
                    "rest": .text("\(rest)"),
                ])
        case .closed:
            log.info(
                "circuit breaker closed",
                ["upstream": .text(settings.name.text), "server": .text(origin.description)])
        case nil: break
        }
    }
}
