import AdapterKit
import Admission
import AdmissionTesting
import Testing

@testable import WorkerHost

@Suite struct FairSnapshotQueueTests {
    private let start = ContinuousClock.now

    private func queue(permits: Int, _ adapters: AdapterName...) -> SteppedPolicy<FairSnapshotQueue> {
        let queue = SteppedPolicy(FairSnapshotQueue(permits: permits))
        queue.now = start
        for adapter in adapters { queue.enter(adapter) }
        return queue
    }

    private func revoked(_ queue: SteppedPolicy<FairSnapshotQueue>, at seconds: Double) -> Set<AdmissionTicket> {
        queue.now = start.advanced(by: .seconds(seconds))
        return Set(queue.policy.takeRevoked(at: queue.now))
    }

    @Test func anAdapterHasItsShareAndNoMore() {
        let queue = queue(permits: 4)
        #expect((0..<5).map { _ in queue.enter("hog") } == [.admitted, .admitted, .admitted, .waits, .waits])
        #expect(queue.enter("other") == .admitted)
        // Nobody else waits: it keeps them.
        #expect(revoked(queue, at: 60) == [])
    }

    @Test func anAdapterThatWaitsTakesFromTheOneWithTheMostAfterASecond() {
        let queue = queue(permits: 4, "hog", "hog", "hog", "other")
        #expect(queue.enter("third") == .waits)
        #expect(revoked(queue, at: 0.9) == [])
        #expect(revoked(queue, at: 1) == [1])
        // It is named until it leaves, and no second one for the same.
        #expect(revoked(queue, at: 1.1) == [1])
        #expect(queue.policy.nextRevocation(after: start) != nil)
        #expect(queue.leave(1) == [5])
        #expect(queue.policy.nextRevocation(after: start) == nil)
    }

    @Test func permitsAreTakenUntilTheyAreEvenAndTheOnlyOneAfterTen() {
        let queue = queue(permits: 4, "hog", "hog", "hog", "other", "other", "other")
        #expect(revoked(queue, at: 5) == [1])
        #expect(queue.leave(1) == [5])
        #expect(revoked(queue, at: 9) == [])
        // Two each; two more adapters want one each.
        for adapter in ["third", "fourth"] as [AdapterName] { queue.enter(adapter) }
        #expect(revoked(queue, at: 9) == [2, 4])
        for ticket in [2, 4] as [AdmissionTicket] { queue.leave(ticket) }
        queue.enter("fifth")
        #expect(revoked(queue, at: 9.9) == [])
        #expect(revoked(queue, at: 10) == [3])
    }

    @Test func thoseThatWaitComeInTurnsAndOneGivesUp() {
        let queue = queue(permits: 2, "hog", "other", "hog", "hog", "third", "other")
        #expect(queue.abandon(3) == [])
        #expect(queue.leave(1) == [5])
        #expect(queue.leave(2) == [4])
        #expect(queue.leave(5) == [6])
    }

    @Test func aStoreWithOnePlaceServesAll() {
        let queue = queue(permits: 1, "one", "one", "other")
        #expect(revoked(queue, at: 10) == [1])
        #expect(queue.leave(1) == [3])
        #expect(queue.leave(3) == [2])
    }

    @Test func whateverComesAndGoesTheSharesKeepTheirPromises() {
        var scenario =
            AdmissionScenario(patience: 200) { _ in
                FairSnapshotQueue(permits: 4)
            } request: { random in
                ["one", "two", "three"].randomElement(using: &random) ?? "one"
            } as AdmissionScenario<FairSnapshotQueue>
        scenario.broken = { running, _ in
            let own = Dictionary(grouping: running, by: \.request).values.map(\.count).max() ?? 0
            return running.count > 4 || own > 3 ? "\(running.count) run" : nil
        }
        scenario.mayGo = { waiting, running, _ in
            running.count < 4 && running.count { $0.request == waiting.request } < 3
        }
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}
