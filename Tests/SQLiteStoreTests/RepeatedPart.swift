import Foundation

/// Rounds of a test that repeats itself: all of them, or as many as fit into `TEST_SECONDS`, but never fewer than some.
final class RepeatedPart: Sequence, IteratorProtocol {
    private let rounds: Int
    private let fewest: Int
    private let end: ContinuousClock.Instant?
    private(set) var done = 0

    init(rounds: Int, fewest: Int) {
        self.rounds = rounds
        self.fewest = fewest
        let seconds = ProcessInfo.processInfo.environment["TEST_SECONDS"].flatMap { Double($0) }
        end = seconds.map { ContinuousClock.now + .seconds($0) }
    }

    func next() -> Int? {
        let isOver = end.map { ContinuousClock.now > $0 } ?? false
        guard done < rounds, done < fewest || !isOver else { return nil }
        done += 1
        return done
    }
}
