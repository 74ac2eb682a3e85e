import Admission
import AdmissionTesting
import Testing

@testable import WorkerHost

@Suite struct `The admission of a worker's requests` {
    private let admission = SteppedPolicy(RequestAdmission(permits: 2, changes: 100))

    private func enter(_ scope: Int? = nil, changes: Int = 0) -> SteppedPolicy<RequestAdmission>.Entry {
        admission.enter(RequestAdmission.Request(scope: scope, changes: changes))
    }

    @Test func `serves as many as there are permits, and the rest in order`() {
        #expect((0..<4).map { _ in enter() } == [.admitted, .admitted, .waits, .waits])
        #expect(admission.leave(2) == [3])
        #expect(admission.leave(1) == [4])
        #expect(admission.leave(3) == [])
        #expect(admission.leave(4) == [])
        #expect(enter() == .admitted)
    }

    @Test func `passes one that was given up`() {
        for _ in 0..<4 { _ = enter() }
        #expect(admission.abandon(3) == [])
        #expect(admission.leave(1) == [4])
    }

    @Test func `has one permit for each thing that a request may wait for, whatever waits`() {
        for _ in 0..<3 { _ = enter() }
        #expect([enter(7), enter(7), enter(7), enter(8)] == [.admitted, .waits, .waits, .admitted])
        // Its own requests follow each other, although others have waited for longer.
        #expect(admission.leave(4) == [5])
        #expect(admission.leave(5) == [6])
        #expect(admission.leave(6) == [])
    }

    @Test func `bounds the changes that are under way, and lets reads pass`() {
        #expect([enter(changes: 60), enter(changes: 50), enter(changes: 1)] == [.admitted, .waits, .waits])
        #expect(enter() == .admitted)
        #expect(admission.leave(4) == [])
        #expect(admission.leave(1) == [2, 3])
        #expect(admission.leave(2) == [])
        #expect(admission.leave(3) == [])
        // A larger one is served where no other changes are under way.
        #expect(enter(changes: 1_000) == .admitted)
    }

    @Test func `has changes go on that waited for some that were given up`() {
        #expect([enter(changes: 60), enter(changes: 50), enter(changes: 1)] == [.admitted, .waits, .waits])
        #expect(admission.abandon(2) == [3])
    }

    @Test func `keeps its promises, whatever comes and goes`() {
        var scenario = AdmissionScenario(patience: 200) { _ in
            RequestAdmission(permits: 3, changes: 20)
        } request: { random in
            RequestAdmission.Request(
                scope: Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0..<2, using: &random) : nil,
                changes: Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 1...24, using: &random) : 0)
        }
        scenario.broken = { running, _ in
            running.count { $0.request.scope == nil } > 3 || running.count > 3 + 2 ? "\(running.count) run" : nil
        }
        scenario.mayGo = { waiting, running, _ in
            running.isEmpty || waiting.request == RequestAdmission.Request() && running.count < 3
        }
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}

@Suite struct `The limit of live signals` {
    private let start = ContinuousClock.now

    @Test func `lets a burst through, then an even rate, and reports what it left out once a second`() {
        var limit = SignalLimit()
        var (taken, reported): (Int, [Int]) = (0, [])
        for count in 0..<3_000 {
            let (isTaken, omitted) = limit.take(10, at: start + .milliseconds(count / 3))
            if isTaken { taken += 1 }
            if let omitted { reported.append(omitted) }
        }
        #expect((SignalLimit.atOnce...SignalLimit.atOnce + SignalLimit.perSecond).contains(taken))
        #expect(reported == [1])
        let later = limit.take(10, at: start + .seconds(3))
        #expect(later.isTaken)
        #expect(later.omitted == 3_000 - taken - 1)
        let last = limit.take(10, at: start + .seconds(60))
        #expect(last.isTaken && last.omitted == nil)
    }

    @Test func `refuses a long signal`() {
        var limit = SignalLimit()
        let long = limit.take(SignalLimit.bytes + 1, at: start)
        #expect(!long.isTaken && long.omitted == 1)
        let short = limit.take(SignalLimit.bytes, at: start)
        #expect(short.isTaken && short.omitted == nil)
    }
}
