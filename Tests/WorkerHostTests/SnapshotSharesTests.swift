import AdapterKit
import Testing

@testable import WorkerHost

@Suite struct SnapshotSharesTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func opened(_ shares: inout SnapshotShares, _ adapters: AdapterName...) -> [UInt64] {
        adapters.map { shares.enter($0, at: at(0)).number }
    }

    @Test func anAdapterHasItsShareAndNoMore() {
        var shares = SnapshotShares(places: 4)
        let admitted = (0..<5).map { _ in shares.enter("hog", at: at(0)).isAdmitted }
        #expect(admitted == [true, true, true, false, false])
        let other = shares.enter("other", at: at(0))
        #expect(other.isAdmitted)
        // Nobody else waits: it keeps them.
        #expect(shares.ended(at: at(60)) == [])
    }

    @Test func anAdapterThatWaitsTakesFromTheOneWithTheMostAfterASecond() {
        var shares = SnapshotShares(places: 4)
        let numbers = opened(&shares, "hog", "hog", "hog", "other")
        let third = shares.enter("third", at: at(0.5))
        #expect(!third.isAdmitted)
        #expect(shares.ended(at: at(0.9)) == [])
        #expect(shares.ended(at: at(1)) == [numbers[0]])
        // It is named until it leaves, and no second one for the same.
        #expect(shares.ended(at: at(1.1)) == [numbers[0]])
        #expect(shares.leave(numbers[0], at: at(1.2)) == [third.number])
        #expect(!shares.hasWaiters)
    }

    @Test func placesAreTakenUntilTheyAreEvenAndTheOnlyOneAfterTen() {
        var shares = SnapshotShares(places: 4)
        let numbers = opened(&shares, "hog", "hog", "hog", "other", "other", "other")
        #expect(shares.ended(at: at(5)) == [numbers[0]])
        #expect(shares.leave(numbers[0], at: at(5)) == [numbers[4]])
        #expect(shares.ended(at: at(9)) == [])
        // Two each; two more adapters want one each.
        _ = shares.enter("third", at: at(9))
        _ = shares.enter("fourth", at: at(9))
        #expect(Set(shares.ended(at: at(9))) == [numbers[1], numbers[3]])
        for number in [numbers[1], numbers[3]] { _ = shares.leave(number, at: at(9)) }
        _ = shares.enter("fifth", at: at(9))
        #expect(shares.ended(at: at(9.9)) == [])
        #expect(shares.ended(at: at(10)) == [numbers[2]])
    }

    @Test func thoseThatWaitComeInTurnsAndOneGivesUp() {
        var shares = SnapshotShares(places: 2)
        let numbers = opened(&shares, "hog", "other", "hog", "hog", "third", "other")
        #expect(shares.giveUp(numbers[2]) == true)
        #expect(shares.giveUp(numbers[0]) == false)
        #expect(shares.leave(numbers[0], at: at(1)) == [numbers[4]])
        #expect(shares.leave(numbers[1], at: at(1)) == [numbers[3]])
        #expect(shares.leave(numbers[4], at: at(1)) == [numbers[5]])
        #expect(shares.leave(numbers[1], at: at(1)) == [])
    }

    @Test func aStoreWithOnePlaceServesAll() {
        var shares = SnapshotShares(places: 1)
        let numbers = opened(&shares, "one", "one", "other")
        #expect(shares.ended(at: at(10)) == [numbers[0]])
        #expect(shares.leave(numbers[0], at: at(10)) == [numbers[2]])
        #expect(shares.leave(numbers[2], at: at(10)) == [numbers[1]])
    }
}
