import AdapterKit
import Admission
import AdmissionTesting
import Testing

@Suite struct `The queue of accounts` {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    private func queue(
        limit: Int, places: Int, _ share: AccountQueue<PorticoError>.WaitingShare = .free, refusesSystem: Bool = true
    ) -> SteppedPolicy<AccountQueue<PorticoError>> {
        SteppedPolicy(
            AccountQueue(
                limit: limit, places: places, share: share, refusesSystem: refusesSystem,
                refusal: PorticoError(.overloaded, "Full.")))
    }

    @Test func `admits requests up to the limit, the others in their order, and refuses them beyond the places`() {
        let queue = queue(limit: 3, places: 4)
        #expect((1...5).map { _ in queue.enter(alice) } == [.admitted, .admitted, .waits, .waits, .refused])
        #expect(queue.leave(1) == [3])
        #expect(queue.leave(2) == [4])
        #expect(queue.leave(3) == [])
        #expect(queue.leave(4) == [])
        #expect(queue.policy.counts == AdmissionCounts(running: 0, waiting: 0))
        #expect(queue.enter(alice) == .admitted)
    }

    @Test func `leaves a turn to another account, and places`() {
        let queue = queue(limit: 16, places: 64)
        let taken = (1...100).map { _ in queue.enter(alice) }
        #expect(taken.count { $0 == .admitted } == 15)
        #expect(taken.count { $0 == .waits } == 32)
        #expect(queue.enter(bob) == .admitted)
        for _ in 102...112 { #expect(queue.enter(bob) == .waits) }
        // In turns, whoever came first.
        #expect((1...4).flatMap { queue.leave($0) } == [102, 16, 103, 17])
    }

    @Test func `gives many accounts that take all they can as much each, and a newcomer a place`() {
        let queue = queue(limit: 4, places: 20)
        for _ in 0..<30 {
            for name in ["a", "b", "c"] { queue.enter(.account(name)) }
        }
        #expect(queue.policy.counts.waiting == 15)
        #expect(queue.enter(bob) == .waits)
    }

    @Test func `gives one account half of the places, and another the rest`() {
        let queue = queue(limit: 1, places: 4, .half)
        #expect((0..<4).map { _ in queue.enter(alice) } == [.admitted, .waits, .waits, .refused])
        #expect((0..<3).map { _ in queue.enter(bob) } == [.waits, .waits, .refused])
        #expect(queue.enter(.system) == .refused)
        // Who had the turn is last.
        #expect(queue.leave(1) == [5])
        #expect(queue.enter(.system) == .waits)
        #expect(queue.leave(5) == [2])
        #expect(queue.leave(2) == [9])
    }

    @Test func `with one turn has it go from account to account`() {
        let queue = queue(limit: 1, places: 2)
        #expect((0..<3).map { _ in queue.enter(alice) } == [.admitted, .waits, .refused])
        #expect(queue.enter(bob) == .waits)
        #expect(queue.leave(1) == [4])
        #expect(queue.leave(4) == [2])
    }

    @Test func `never refuses the gateway's own where that is said`() {
        let queue = queue(limit: 1, places: 1, .half, refusesSystem: false)
        #expect([alice, alice, alice].map { queue.enter($0) } == [.admitted, .waits, .refused])
        #expect([CallerIdentity.system, .system].map { queue.enter($0) } == [.waits, .waits])
    }

    @Test func `passes one that was given up`() {
        let queue = queue(limit: 1, places: 4)
        #expect((1...3).map { _ in queue.enter(alice) } == [.admitted, .waits, .waits])
        #expect(queue.abandon(2) == [])
        #expect(queue.enter(alice) == .waits)
        #expect(queue.leave(1) == [3])
        #expect(queue.abandon(4) == [])
        #expect(queue.leave(3) == [])
        #expect(queue.policy.counts == AdmissionCounts(running: 0, waiting: 0))
    }

    @Test(arguments: [false, true])
    func `keeps its promises, whatever comes and goes`(half: Bool) {
        #expect(scenario(half ? .half : .free).firstViolation(seeds: Seeds.taken()) == nil)
    }

    @Test func `with any mistake in it or around it breaks one`() {
        let possible = AdmissionSabotage.allCases.filter { $0 != .losesRefused }
        #expect(scenario(.free).unnoticed(of: possible, seeds: 0..<300) == [])
    }

    private func scenario(
        _ share: AccountQueue<PorticoError>.WaitingShare
    ) -> AdmissionScenario<AccountQueue<PorticoError>> {
        let (limit, places) = (4, 12)
        var scenario = AdmissionScenario(patience: 48) { _ in
            AccountQueue(
                limit: limit, places: places, share: share, refusal: PorticoError(.overloaded, "Full."))
        } request: { random in
            .account("\(Int.random(in: 0..<4, using: &random))")
        }
        scenario.mostWaiting = places
        scenario.broken = { running, _ in
            let own = Dictionary(grouping: running, by: \.request).values.map(\.count).max() ?? 0
            return running.count > limit || own > limit - 1 ? "\(running.count) run, \(own) of one" : nil
        }
        scenario.mayGo = { waiting, running, _ in
            running.count < limit && running.count { $0.request == waiting.request } < limit - 1
        }
        return scenario
    }
}
