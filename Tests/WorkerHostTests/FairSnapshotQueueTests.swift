import AdapterKit
import Testing

@testable import WorkerHost

@Suite struct FairSnapshotQueueTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func opened(_ queue: inout FairSnapshotQueue, _ adapters: AdapterName...) -> [UInt64] {
        adapters.map { queue.enter($0, at: at(0)).number }
    }

    @Test func anAdapterHasItsShareAndNoMore() {
        var queue = FairSnapshotQueue(permits: 4)
        let admitted = (0..<5).map { _ in queue.enter("hog", at: at(0)).isAdmitted }
        #expect(admitted == [true, true, true, false, false])
        let other = queue.enter("other", at: at(0))
        #expect(other.isAdmitted)
        // Nobody else waits: it keeps them.
        #expect(queue.ended(at: at(60)) == [])
    }

    @Test func anAdapterThatWaitsTakesFromTheOneWithTheMostAfterASecond() {
        var queue = FairSnapshotQueue(permits: 4)
        let numbers = opened(&queue, "hog", "hog", "hog", "other")
        let third = queue.enter("third", at: at(0.5))
        #expect(!third.isAdmitted)
        #expect(queue.ended(at: at(0.9)) == [])
        #expect(queue.ended(at: at(1)) == [numbers[0]])
        // It is named until it leaves, and no second one for the same.
        #expect(queue.ended(at: at(1.1)) == [numbers[0]])
        #expect(queue.release(numbers[0], at: at(1.2)) == [third.number])
        #expect(!queue.hasWaiters)
    }

    @Test func permitsAreTakenUntilTheyAreEvenAndTheOnlyOneAfterTen() {
        var queue = FairSnapshotQueue(permits: 4)
        let numbers = opened(&queue, "hog", "hog", "hog", "other", "other", "other")
        #expect(queue.ended(at: at(5)) == [numbers[0]])
        #expect(queue.release(numbers[0], at: at(5)) == [numbers[4]])
        #expect(queue.ended(at: at(9)) == [])
        // Two each; two more adapters want one each.
        _ = queue.enter("third", at: at(9))
        _ = queue.enter("fourth", at: at(9))
        #expect(Set(queue.ended(at: at(9))) == [numbers[1], numbers[3]])
        for number in [numbers[1], numbers[3]] { _ = queue.release(number, at: at(9)) }
        _ = queue.enter("fifth", at: at(9))
        #expect(queue.ended(at: at(9.9)) == [])
        #expect(queue.ended(at: at(10)) == [numbers[2]])
    }

    @Test func thoseThatWaitComeInTurnsAndOneGivesUp() {
        var queue = FairSnapshotQueue(permits: 2)
        let numbers = opened(&queue, "hog", "other", "hog", "hog", "third", "other")
        #expect(queue.giveUp(numbers[2]) == true)
        #expect(queue.giveUp(numbers[0]) == false)
        #expect(queue.release(numbers[0], at: at(1)) == [numbers[4]])
        #expect(queue.release(numbers[1], at: at(1)) == [numbers[3]])
        #expect(queue.release(numbers[4], at: at(1)) == [numbers[5]])
        #expect(queue.release(numbers[1], at: at(1)) == [])
    }

    @Test func aStoreWithOnePlaceServesAll() {
        var queue = FairSnapshotQueue(permits: 1)
        let numbers = opened(&queue, "one", "one", "other")
        #expect(queue.ended(at: at(10)) == [numbers[0]])
        #expect(queue.release(numbers[0], at: at(10)) == [numbers[2]])
        #expect(queue.release(numbers[2], at: at(10)) == [numbers[1]])
    }
}
