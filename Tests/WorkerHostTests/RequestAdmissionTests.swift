import Testing

@testable import WorkerHost

@Suite struct `The admission of a worker's requests` {
    private final class Machine {
        private var state = RequestAdmission(permits: 2, changes: 100)

        func enter(_ scope: Int? = nil, changes: Int = 0) -> (turn: RequestAdmission.Turn, isAdmitted: Bool) {
            state.enter(scope: scope, changes: changes)
        }

        /// Nil where it is not admitted at once.
        func admitted(_ scope: Int? = nil, changes: Int = 0) -> RequestAdmission.Turn? {
            let (turn, isAdmitted) = enter(scope, changes: changes)
            return isAdmitted ? turn : nil
        }

        func leave(_ turn: RequestAdmission.Turn) -> [UInt64] { state.leave(turn) }
        func giveUp(_ turn: RequestAdmission.Turn) -> Bool { state.giveUp(turn) }
    }

    private let admission = Machine()

    @Test func `serves as many as there are permits, and the rest in order`() throws {
        let first = try #require(admission.admitted())
        let second = try #require(admission.admitted())
        let third = admission.enter()
        let fourth = admission.enter()
        #expect(!third.isAdmitted && !fourth.isAdmitted)
        #expect(admission.leave(second) == [third.turn.number])
        #expect(admission.leave(first) == [fourth.turn.number])
        #expect(admission.leave(third.turn) == [])
        #expect(admission.leave(fourth.turn) == [])
        #expect(admission.admitted() != nil)
    }

    @Test func `passes one that was given up`() throws {
        let first = try #require(admission.admitted())
        _ = try #require(admission.admitted())
        let third = admission.enter().turn
        let fourth = admission.enter().turn
        #expect(admission.giveUp(third))
        #expect(!admission.giveUp(third))
        #expect(admission.leave(first) == [fourth.number])
        #expect(!admission.giveUp(fourth))
    }

    @Test func `has one permit for each thing that a request may wait for, whatever waits`() throws {
        for _ in 0..<3 { _ = admission.admitted() }
        let own = try #require(admission.admitted(7))
        let further = admission.enter(7)
        let last = admission.enter(7)
        #expect(!further.isAdmitted && !last.isAdmitted)
        #expect(admission.admitted(8) != nil)
        // Its own requests follow each other, although others have waited for longer.
        #expect(admission.leave(own) == [further.turn.number])
        #expect(admission.leave(further.turn) == [last.turn.number])
        #expect(admission.leave(last.turn) == [])
    }

    @Test func `bounds the changes that are under way, and lets reads pass`() throws {
        let first = try #require(admission.admitted(changes: 60))
        let second = admission.enter(changes: 50)
        let third = admission.enter(changes: 1)
        #expect(!second.isAdmitted && !third.isAdmitted)
        let read = try #require(admission.admitted())
        #expect(admission.leave(read) == [])
        #expect(admission.leave(first) == [second.turn.number, third.turn.number])
        #expect(admission.leave(second.turn) == [])
        #expect(admission.leave(third.turn) == [])
        // A larger one is served where no other changes are under way.
        #expect(admission.admitted(changes: 1_000) != nil)
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
