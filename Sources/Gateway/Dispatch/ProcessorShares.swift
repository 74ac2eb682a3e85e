import AdapterKit
import Admission
import Dispatch
import Foundation
import Synchronization

/// Runs the tasks of requests on a few threads, with turns by account: the executors' side of ``AccountTurns``.
///
/// Swift's own pool runs jobs in the order in which they come, so that one account's six hundred requests would all run before
/// the next account's first. Here the accounts that have jobs take turns, and an account has all threads but one at most.
///
/// Why it is there: docs/decisions/0470-run-requests-in-turns-by-account.md.
final class ProcessorShares: Sendable {
    /// One for the process: a thread for each processor, and one that is always left for another account.
    static let shared = ProcessorShares(threads: ProcessInfo.processInfo.activeProcessorCount + 1)

    fileprivate typealias Job = (job: UnownedJob, executor: AccountExecutor)

    private struct State {
        var turns: AccountTurns<Job>
        /// Threads that wait for a job.
        var idle = 0
    }

    private let state: Mutex<State>
    private let wake = DispatchSemaphore(value: 0)

    /// The threads last as long as the process.
    ///
    /// - Parameter threads: two at least.
    init(threads: Int) {
        let count = max(2, threads)
        state = Mutex(State(turns: AccountTurns(perAccount: count - 1)))
        for number in 0..<count {
            let thread = Thread { [self] in work() }
            thread.name = "requests-\(number)"
            thread.stackSize = Self.stackSize
            thread.start()
        }
    }

    /// Bytes; as much as the main thread has.
    private static let stackSize = 8 << 20

    /// An executor whose jobs take their turns as the account's. To be kept while tasks prefer it: the runtime does not retain it.
    func executor(for account: CallerIdentity) -> AccountExecutor { AccountExecutor(account, of: self) }

    fileprivate func enqueue(_ job: UnownedJob, on executor: AccountExecutor) {
        let wakes = state.withLock { state in
            state.turns.append((job, executor), for: executor.account)
            guard state.idle > 0, state.turns.hasNext else { return false }
            state.idle -= 1
            return true
        }
        if wakes { wake.signal() }
    }

    private func work() {
        var ended: CallerIdentity?
        while true {
            let next = state.withLock { state -> Job? in
                if let ended { state.turns.end(for: ended) }
                guard let next = state.turns.next() else {
                    state.idle += 1
                    return nil
                }
                return next
            }
            ended = next?.executor.account
            if let next {
                next.job.runSynchronously(on: next.executor.asUnownedTaskExecutor())
            } else {
                wake.wait()
            }
        }
    }
}

/// The executor of one account's tasks.
final class AccountExecutor: TaskExecutor {
    let account: CallerIdentity
    private let shares: ProcessorShares

    fileprivate init(_ account: CallerIdentity, of shares: ProcessorShares) {
        self.account = account
        self.shares = shares
    }

    func enqueue(_ job: consuming ExecutorJob) { shares.enqueue(UnownedJob(job), on: self) }
}
