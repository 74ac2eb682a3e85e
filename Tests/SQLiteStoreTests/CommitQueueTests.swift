import AdapterKit
import Admission
import AdmissionTesting
import SQLiteStore
import Testing

@Suite struct CommitQueueTests {
    private let queue = SteppedPolicy(
        CommitQueue(limits: CommitQueueLimits(transactions: 6, steps: 20, stepsPerCommit: 4)))
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @discardableResult
    private func enter(
        _ caller: CallerIdentity, _ steps: Int = 1, times: Int = 1, in other: SteppedPolicy<CommitQueue>? = nil
    ) -> [SteppedPolicy<CommitQueue>.Entry] {
        (0..<times).map { _ in (other ?? queue).enter(CommitQueue.Request(steps: steps, caller: caller)) }
    }

    private func begins() -> Bool { queue.policy.begins() }

    private func commit() -> [AdmissionTicket] {
        queue.policy.beginBatch()
        let batch = queue.decide()
        queue.policy.endBatch()
        for ticket in batch { queue.leave(ticket) }
        return batch
    }

    @Test func `the first to come begins, the others are queued`() {
        enter(alice, times: 2)
        #expect(begins())
        #expect(!begins())
        #expect(commit() == [1, 2])
        enter(alice)
        #expect(!begins())
        #expect(commit() == [3])
        #expect(commit() == [])
        #expect(begins())
    }

    @Test func `one commit takes no more changes than its limit, but always one transaction`() {
        enter(alice, 2, times: 3)
        #expect(commit() == [1, 2])
        #expect(commit() == [3])
        enter(alice, 9)
        #expect(commit() == [4])
    }

    @Test func `a transaction that finds the queue full is refused`() {
        #expect(enter(alice, times: 4) == [.waits, .waits, .waits, .refused])
        _ = commit()
        #expect(enter(alice) == [.waits])
        #expect(enter(alice, 10) == [.refused])
        #expect(enter(bob, 30) == [.refused])
    }

    @Test func `callers take turns, and the transactions of one keep their order`() {
        enter(alice, times: 3)
        enter(bob, times: 2)
        #expect(commit() == [1, 4, 2, 5])
        enter(bob)
        #expect(commit() == [3, 6])
        #expect(queue.policy.counts.waiting == 0)
    }

    @Test func `one caller takes half of the queue, and another the rest`() {
        #expect(enter(alice, times: 4) == [.waits, .waits, .waits, .refused])
        #expect(enter(bob, times: 3) == [.waits, .waits, .waits])
        #expect(enter(.system) == [.refused])
        let large = SteppedPolicy(
            CommitQueue(limits: CommitQueueLimits(transactions: 6, steps: 20, stepsPerCommit: 4)))
        #expect(enter(alice, 9, times: 2, in: large) == [.waits, .refused])
        #expect(enter(bob, 9, in: large) == [.waits])
    }

    @Test func `a transaction beyond every limit is taken where nothing waits`() {
        #expect(enter(alice, 1_000) == [.waits])
        #expect(commit() == [1])
    }

    @Test func `a closed queue takes nothing, and gives what it has`() throws {
        var machine = AdmissionMachine<CommitQueue, Int>(queue.policy, late: CancellationError())
        let request = CommitQueue.Request(steps: 1, caller: alice)
        let ticket = try machine.arrive(request, at: .now).ticket
        let outcome = machine.wait(for: ticket, 7, until: nil, at: .now)
        #expect(outcome == nil)
        machine.closeEntrance(PorticoError(.storeUnavailable, "Closed."))
        let late = Result { () throws(PorticoError) in try machine.arrive(request, at: .now) }
        #expect((try? late.get()) == nil)
        machine.policy.beginBatch()
        machine.decide(at: .now)
        let woken = machine.takeWakeUps().map(\.waiter)
        #expect(woken == [7])
    }

    @Test func `whatever comes and is committed, the queue keeps its promises`() {
        let limits = CommitQueueLimits(transactions: 10, steps: 40, stepsPerCommit: 6)
        var scenario = AdmissionScenario(patience: 40) { _ in
            CommitQueue(limits: limits)
        } request: { random in
            CommitQueue.Request(
                steps: Int.random(in: 1...5, using: &random),
                caller: .account("\(Int.random(in: 0..<3, using: &random))"))
        }
        scenario.mostWaiting = limits.transactions
        scenario.poke = { policy, _, _ in if policy.counts.running == 0 { policy.beginBatch() } }
        scenario.settle = { $0.endBatch() }
        scenario.broken = { running, _ in
            running.map(\.request.steps).reduce(0, +) > limits.stepsPerCommit ? "a commit is too large" : nil
        }
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}
