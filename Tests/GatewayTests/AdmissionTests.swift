import Testing

@testable import Gateway

@Suite struct AdmissionTests {
    private static let second: Int64 = 1_000_000_000

    @Test func aMinutesRequestsMayComeAtOnceAndThenOneByOne() {
        var table = RateTable(limit: 60, capacity: 10)
        for left in (0..<60).reversed() { #expect(table.count("a", now: Self.second).remaining == left) }
        let refused = table.count("a", now: Self.second)
        #expect(refused == RateStanding(limit: 60, remaining: 0, wait: 1, isExceeded: true))
        #expect(!table.count("a", now: 2 * Self.second).isExceeded)
        #expect(table.count("a", now: 2 * Self.second).isExceeded)
        #expect(table.count("a", now: 200 * Self.second).remaining == 59)
    }

    @Test func callersDoNotPayForEachOther() {
        var table = RateTable(limit: 1, capacity: 10)
        #expect(!table.count("a", now: 0).isExceeded)
        #expect(table.count("a", now: 0).isExceeded)
        #expect(!table.count("b", now: 0).isExceeded)
    }

    @Test func callersBeyondTheCapacityShareOneAllowance() {
        var table = RateTable(limit: 1, capacity: 2)
        for caller in ["a", "b", "c"] { #expect(!table.count(caller, now: 0).isExceeded) }
        #expect(table.count("d", now: 0).isExceeded)
        #expect(!table.count("d", now: 61 * Self.second).isExceeded)
        #expect(!table.count("e", now: 61 * Self.second).isExceeded)
    }

    @Test func oneCallerOrAdapterTakesNoMoreThanItsShare() {
        var shares = Shares(perCaller: 2, perAdapter: 3)
        func place(_ caller: String, _ adapter: String) -> Shares.Place { .init(caller: caller, adapter: adapter) }
        #expect(shares.take(place("a", "slow")) && shares.take(place("a", "slow")))
        #expect(shares.take(place("a", "quick")) == false)
        #expect(shares.take(place("b", "slow")) == true)
        #expect(shares.take(place("c", "slow")) == false)
        #expect(shares.take(place("c", "quick")) == true)
        shares.leave(place("a", "slow"))
        #expect(shares.take(place("c", "slow")) == true)
    }

    @Test func whatIsTakenBySomebodySlowIsSeenInSpans() {
        var progress = WriteProgress()
        progress.wrote(1_000)
        #expect(progress.look(waiting: 900, atLeast: 200) == .goesOn)
        #expect(progress.look(waiting: 600, atLeast: 200) == .goesOn)
        #expect(progress.look(waiting: 500, atLeast: 200) == .tooSlow)
        #expect(progress.look(waiting: 0, atLeast: 200) == .idle)
        progress.wrote(1_000)
        #expect(progress.look(waiting: 1_000, atLeast: 200) == .goesOn)
    }
}
