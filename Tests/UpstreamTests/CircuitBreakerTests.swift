import AdapterKit
import Testing
import UpstreamStandIn

@testable import Upstream

/// The state machine alone, in a time that the test tells.
@Suite struct CircuitBreakerTests {
    private let start = ContinuousClock.now
    private let limits: UpstreamLimits = {
        var limits = UpstreamLimits()
        (limits.failures, limits.rest, limits.longestRest) = (3, .seconds(10), .seconds(30))
        return limits
    }()

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// One request from its leave to its outcome; nil where it got no leave.
    private func ask(_ breaker: inout CircuitBreaker, _ outcome: CircuitBreaker.Outcome, at second: Int)
        -> (sent: Bool, event: CircuitBreaker.Event?)
    {
        guard let permit = breaker.enter(now: at(second)) else { return (false, nil) }
        return (true, breaker.leave(permit, outcome, now: at(second)))
    }

    private func opened() -> CircuitBreaker {
        var breaker = CircuitBreaker(limits)
        for _ in 0..<3 { _ = ask(&breaker, .failed, at: 0) }
        return breaker
    }

    @Test func `it opens after the failures in a row, and says so once`() {
        var breaker = CircuitBreaker(limits)
        #expect(ask(&breaker, .failed, at: 0).event == nil)
        #expect(ask(&breaker, .failed, at: 0).event == nil)
        #expect(ask(&breaker, .failed, at: 0).event == .opened(rest: .seconds(10)))
        #expect(!ask(&breaker, .answered, at: 9).sent)
    }

    @Test func `an answer in between begins the count again, a cancelled request does not`() {
        var breaker = CircuitBreaker(limits)
        for outcome in [CircuitBreaker.Outcome.failed, .failed, .answered, .failed, .unknown, .failed] {
            #expect(ask(&breaker, outcome, at: 0).event == nil)
        }
        #expect(ask(&breaker, .failed, at: 0).event == .opened(rest: .seconds(10)))
    }

    @Test func `after the rest one request tries, and no other until its outcome is there`() {
        var breaker = opened()
        let trial = breaker.enter(now: at(10))
        #expect(trial != nil)
        #expect(breaker.enter(now: at(10)) == nil && breaker.enter(now: at(1000)) == nil)
        #expect(trial.flatMap { breaker.leave($0, .answered, now: at(11)) } == .closed)
        #expect(breaker.enter(now: at(11)) != nil && breaker.enter(now: at(11)) != nil)
    }

    @Test func `each failed try doubles the rest up to the longest, and a success forgets it`() {
        var breaker = opened()
        #expect(ask(&breaker, .failed, at: 10).event == .opened(rest: .seconds(20)))
        #expect(!ask(&breaker, .answered, at: 29).sent)
        #expect(ask(&breaker, .failed, at: 30).event == .opened(rest: .seconds(30)))
        #expect(ask(&breaker, .failed, at: 60).event == .opened(rest: .seconds(30)))
        #expect(ask(&breaker, .answered, at: 90).event == .closed)
        for _ in 0..<2 { _ = ask(&breaker, .failed, at: 90) }
        #expect(ask(&breaker, .failed, at: 90).event == .opened(rest: .seconds(10)))
    }

    @Test func `an operator does not wait for the rest's end, but for the outcome of another try`() {
        var breaker = opened()
        #expect(breaker.enter(now: at(1)) == nil)
        let permit = breaker.enter(now: at(1), isOperatorTry: true)
        #expect(permit != nil)
        #expect(breaker.enter(now: at(1), isOperatorTry: true) == nil)
        #expect(permit.flatMap { breaker.leave($0, .answered, now: at(2)) } == .closed)
        breaker = opened()
        let failing = breaker.enter(now: at(1), isOperatorTry: true)
        #expect(failing.flatMap { breaker.leave($0, .failed, now: at(2)) } == nil)
        // The rest goes on as it was, also after many of them, and the next try is as late as without them.
        for second in 3..<9 {
            let again = breaker.enter(now: at(second), isOperatorTry: true)
            #expect(again.flatMap { breaker.leave($0, .failed, now: at(second)) } == nil)
            #expect(breaker.enter(now: at(second)) == nil)
        }
        #expect(ask(&breaker, .failed, at: 10).event == .opened(rest: .seconds(20)))
    }

    @Test func `a cancelled try lets the next one try`() {
        var breaker = opened()
        #expect(ask(&breaker, .unknown, at: 10).sent)
        #expect(ask(&breaker, .answered, at: 10).event == .closed)
    }

    @Test func `what was sent before it opened neither closes it nor opens it again`() {
        var breaker = CircuitBreaker(limits)
        let early = (0..<2).compactMap { _ in breaker.enter(now: at(0)) }
        for _ in 0..<3 { _ = ask(&breaker, .failed, at: 0) }
        #expect(early.map { breaker.leave($0, .answered, now: at(1)) } == [nil, nil])
        #expect(!ask(&breaker, .answered, at: 1).sent)
        #expect(ask(&breaker, .answered, at: 10).event == .closed)
    }
}

/// The same over a real connection.
@Suite struct RestingServerTests {
    @Test func `a server that fails is not asked any more, and its neighbour is`() async throws {
        let server = try await StandIn { _ in .plain(503) }
        let other = try await StandIn { _ in .plain(200) }
        let upstream = HTTPUpstream(settings(server, other) { $0.rest = .seconds(3600) }, log: .discarding)
        for _ in 0..<2 {
            #expect(try await upstream.send(UpstreamRequest(.get, try address(server.address))).status == 503)
        }
        let refused = await #expect(throws: UpstreamFailure.self) {
            try await upstream.send(UpstreamRequest(.get, try address(server.address)))
        }
        #expect(refused?.kind == .circuitOpen)
        #expect(server.requests.count == 2)
        // What opened the circuit stays to be seen.
        #expect(upstream.status.figures.lastFailure?.kind == .broken)
        #expect(upstream.status.figures.lastFailure?.detail.contains("503") == true)
        let asked = try await CallContext.$isOperatorTry.withValue(true) {
            try await upstream.send(UpstreamRequest(.get, try address(server.address)))
        }
        #expect(asked.status == 503)
        #expect(server.requests.count == 3)
        #expect(try await upstream.send(UpstreamRequest(.get, try address(other.address))).status == 200)
        await upstream.stop()
        await server.stop()
        await other.stop()
    }

    @Test(arguments: [404, 500]) func `a refusal is an answer`(status: Int) async throws {
        let server = try await StandIn { _ in .plain(status) }
        let upstream = HTTPUpstream(settings(server) { $0.rest = .seconds(3600) }, log: .discarding)
        for _ in 0..<5 {
            #expect(try await upstream.send(UpstreamRequest(.get, try address(server.address))).status == status)
        }
        await upstream.stop()
        await server.stop()
    }

    @Test func `callers who leave do not count`() async throws {
        let server = try await StandIn { _ in .silence }
        let upstream = HTTPUpstream(settings(server) { $0.rest = .seconds(3600) }, log: .discarding)
        let request = UpstreamRequest(.get, try address(server.address))
        for count in 1...3 {
            let call = Task { try await upstream.send(request) }
            while !Task.isCancelled, server.requests.count < count { await Task.yield() }
            call.cancel()
            let left = await #expect(throws: UpstreamFailure.self) { try await call.value }
            #expect(left?.kind == .cancelled)
        }
        #expect(upstream.status.openCircuits.isEmpty)
        await upstream.stop()
        await server.stop()
    }

    @Test func `deadlines count`() async throws {
        let server = try await StandIn { _ in .silence }
        let settings = settings(server) {
            $0.rest = .seconds(3600)
            $0.deadline = .milliseconds(50)
        }
        let upstream = HTTPUpstream(settings, log: .discarding)
        let request = UpstreamRequest(.get, try address(server.address))
        for expected in [UpstreamFailure.Kind.timedOut, .timedOut, .circuitOpen] {
            let failure = await #expect(throws: UpstreamFailure.self) { try await upstream.send(request) }
            #expect(failure?.kind == expected)
        }
        await upstream.stop()
        await server.stop()
    }

    @Test func `it is asked again after its rest, and one answer is enough`() async throws {
        let count = Counter()
        let server = try await StandIn { _ in count.next() <= 2 ? .hangUp : .plain(200) }
        let upstream = HTTPUpstream(settings(server) { $0.rest = .zero }, log: .discarding)
        let request = UpstreamRequest(.get, try address(server.address))
        for _ in 0..<2 { await #expect(throws: UpstreamFailure.self) { try await upstream.send(request) } }
        for _ in 0..<5 { #expect(try await upstream.send(request).status == 200) }
        await upstream.stop()
        await server.stop()
    }

    private func settings(_ servers: StandIn..., adjust: (inout UpstreamLimits) -> Void) -> UpstreamSettings {
        var settings = UpstreamSettings.loopback(servers.map(\.address))
        (settings.limits.tries, settings.limits.failures) = (1, 2)
        adjust(&settings.limits)
        return settings
    }
}
