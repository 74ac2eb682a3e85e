import AdapterKit
import Admission
import AdmissionTesting
import Testing

@testable import SQLiteStore

@Suite struct ReadShareTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")
    private let carol = CallerIdentity.address("192.0.2.1")

    private func shares(_ limits: ReadShares.Limits) -> SteppedPolicy<ReadShares> { SteppedPolicy(ReadShares(limits)) }

    private func endsTurn(_ ticket: AdmissionTicket, _ shares: SteppedPolicy<ReadShares>) -> Bool {
        shares.policy.endsTurn(of: ticket)
    }

    @Test func `a caller has all places but one at most`() {
        let shares = shares(ReadShares.Limits(places: 3))
        #expect([alice, alice, alice, bob].map { shares.enter($0) } == [.admitted, .admitted, .waits, .admitted])
        #expect(shares.leave(4) == [])
        #expect(shares.leave(1) == [3])
    }

    @Test func `the caller with the fewest permits is next, however many others came before`() {
        let shares = shares(ReadShares.Limits(places: 2))
        for caller in [alice, bob] { shares.enter(caller) }
        for _ in 0..<10 { shares.enter(alice) }
        shares.enter(carol)
        #expect(shares.leave(2) == [13])
        #expect(shares.leave(1).count == 1)
    }

    @Test func `a full queue takes a caller with fewer reads in it, and refuses one with many`() {
        let shares = shares(ReadShares.Limits(places: 2, waiting: 4))
        let entries = [alice, bob, alice, alice, alice, bob, bob].map { shares.enter($0) }
        #expect(entries == [.admitted, .admitted, .waits, .waits, .refused, .waits, .waits])
        #expect(shares.enter(carol) == .waits)
        // The last of the one or of the other.
        #expect(Set(shares.refused.keys) == [5, 4] || Set(shares.refused.keys) == [5, 7])
        #expect(shares.policy.counts == AdmissionCounts(running: 2, waiting: 4))
    }

    @Test func `as many turns end as there are callers without a place`() {
        let shares = shares(ReadShares.Limits(places: 2))
        for caller in [alice, bob] { shares.enter(caller) }
        #expect(!endsTurn(1, shares))
        shares.enter(alice)
        #expect(!endsTurn(1, shares))
        shares.enter(carol)
        #expect(endsTurn(1, shares))
        #expect(endsTurn(1, shares))
        #expect(!endsTurn(2, shares))
        #expect(shares.leave(1) == [4])
        // Alice has no place any more, and a read of hers waits.
        #expect(endsTurn(2, shares))
    }

    @Test func `what a caller keeps is not taken from it`() {
        let narrow = shares(ReadShares.Limits(places: 2, kept: 1))
        for caller in [alice, bob, carol] { narrow.enter(caller) }
        #expect(!endsTurn(1, narrow))
        let wide = shares(ReadShares.Limits(places: 3, kept: 1))
        for caller in [alice, alice, bob, carol] { wide.enter(caller) }
        #expect(endsTurn(1, wide))
        #expect(!endsTurn(2, wide))
    }

    @Test func `whatever comes and goes, the shares keep their promises`() {
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }

    @Test func `any mistake in the shares or around them breaks a promise`() {
        // A read that leaves twice is gone the second time.
        let possible = AdmissionSabotage.allCases.filter { $0 != .leavesTwice }
        #expect(scenario.unnoticed(of: possible, seeds: 0..<300) == [])
    }

    private var scenario: AdmissionScenario<ReadShares> {
        let limits = ReadShares.Limits(places: 3, waiting: 8)
        var scenario = AdmissionScenario(patience: 40) { _ in
            ReadShares(limits)
        } request: { random in
            CallerIdentity.account("\(Int.random(in: 0..<4, using: &random))")
        }
        scenario.mostWaiting = limits.waiting
        scenario.broken = { running, _ in
            let own = Dictionary(grouping: running, by: \.request).values.map(\.count).max() ?? 0
            return running.count > limits.places || own > limits.placesPerCaller ? "\(running.count) run" : nil
        }
        scenario.mayGo = { waiting, running, _ in
            running.count < limits.places
                && running.count { $0.request == waiting.request } < limits.placesPerCaller
        }
        return scenario
    }
}
