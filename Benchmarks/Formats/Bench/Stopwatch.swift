import Glibc
import Shapes

/// How long one pass of a work takes at its best, in the processor time of this thread.
///
/// The two works of a comparison take turns, a round of several passes each, and each one's best round counts: what
/// else the machine does can only slow a round down, and hits both alike. Rounds are short, so that some of them run
/// from beginning to end without an interruption; time that others had the processor is not counted at all.
///
/// Each round begins with a pass that is not counted. It finds the caches and the allocator as the other work left them:
/// glibc puts off the joining of small freed blocks until somebody asks for a large one, who then pays for all.
struct Stopwatch {
    private static let round = 0.008
    private static let rounds = 45

    /// Seconds that one pass of each takes.
    func compare(_ ours: () throws -> Int, _ peer: () throws -> Int) throws -> (ours: Double, peer: Double) {
        let (ourPasses, peerPasses) = (try passes(of: ours), try passes(of: peer))
        var (ourBest, peerBest) = (Double.infinity, Double.infinity)
        for _ in 0..<Self.rounds {
            ourBest = min(ourBest, try seconds(ourPasses, ours))
            peerBest = min(peerBest, try seconds(peerPasses, peer))
        }
        return (ourBest, peerBest)
    }

    /// How many passes fill a round.
    private func passes(of work: () throws -> Int) throws -> Int {
        _ = try seconds(1, work)
        let one = try seconds(1, work)
        return max(1, Int(Self.round / max(one, 1e-9)))
    }

    private func seconds(_ passes: Int, _ work: () throws -> Int) throws -> Double {
        var sum = try work()
        let start = Self.now
        for _ in 0..<passes { sum &+= try work() }
        let taken = Self.now - start
        guard sum != 0 else { throw NothingDone() }
        return taken / Double(passes)
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// A work that returned 0: it failed, and its time means nothing.
struct NothingDone: Error {}
