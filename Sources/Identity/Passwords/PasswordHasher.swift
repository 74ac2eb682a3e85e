import AdapterKit
import DequeModule
import Foundation
import Synchronization

/// Makes and checks password hashes on its own threads, in fair shares.
struct PasswordHasher: Sendable {
    let parameters: ScryptParameters
    private let queues: PasswordQueues
    private let randomness: any Randomness
    /// A hash at today's cost that no password has: what is compared where there is no account, so that the answer
    /// takes the same time.
    let dummy: PasswordHash

    init(_ configuration: IdentityConfiguration.Passwords, randomness: any Randomness) {
        parameters = configuration.scrypt
        let count = configuration.hashingThreads ?? max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
        queues = PasswordQueues(
            FairQueue.Limits(
                slots: count, waiting: configuration.waitingHashes, longestWait: configuration.longestWait))
        self.randomness = randomness
        dummy = PasswordHash(
            parameters: configuration.scrypt, salt: randomness.bytes(PasswordHash.saltLength),
            hash: randomness.bytes(PasswordHash.hashLength))
    }

    func use(longestWait: Duration) { queues.use(longestWait: longestWait) }

    func hash(_ password: Secret, for share: PasswordShare) async throws -> PasswordHash {
        let salt = randomness.bytes(PasswordHash.saltLength)
        return try await queues.run(for: share) { [parameters] in
            try Scrypt.hash(password, salt: salt, parameters: parameters)
        }
    }

    /// Costs the same for every password and answer.
    func verify(_ password: Secret, against stored: PasswordHash?, for share: PasswordShare) async throws -> Bool {
        let isPossible = PasswordPolicy.isPossible(password)
        let candidate = isPossible ? password : Secret("\u{0}")
        let matches = try await queues.run(for: share) { [dummy] in
            try Scrypt.verify(candidate, against: stored ?? dummy)
        }
        return matches && isPossible && stored != nil
    }
}

/// Password work in fair shares, on threads of its own, with a queue and threads for each priority: a flood of guesses
/// neither stands before others' sign-ins nor takes the processor from them.
package struct PasswordQueues: Sendable {
    private struct Queue {
        let turns: FairScheduler
        let threads: HashingThreadPool
    }

    private let normal: Queue
    private let low: Queue

    /// `limits`: of each priority.
    package init(_ limits: FairQueue.Limits) {
        func queue(_ priority: PasswordPriority) -> Queue {
            Queue(
                turns: FairScheduler(limits),
                threads: HashingThreadPool(threads: limits.slots, priority: priority))
        }
        normal = queue(.normal)
        low = queue(.low)
    }

    func use(longestWait: Duration) {
        for queue in [normal, low] { queue.turns.use(longestWait: longestWait) }
    }

    /// Throws `server.overloaded` where the turn would come too late.
    package func run<Result: Sendable>(
        for share: PasswordShare, _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let queue = share.priority == .low ? low : normal
        return try await queue.turns.run(for: share) { try await queue.threads.run(work) }
    }
}

/// A few threads for hashes: off the event loops and off Swift's own pool, whose threads must not block.
///
/// At most `threads` hashes hold memory at once. Who uses it has a turn of ``FairScheduler``, so that no more come than there are threads.
/// The threads end when this object goes.
package final class HashingThreadPool: Sendable {
    private let core: Core

    package init(threads: Int, priority: PasswordPriority = .normal) {
        core = Core(threads: threads, priority: priority)
        for _ in 0..<threads {
            Thread.detachNewThread { [core] in core.work() }
        }
    }

    deinit { core.stop() }

    package func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Result, any Error>) in
            core.submit { waiter.resume(with: Swift.Result { try work() }) }
        }
    }
}

/// Shared with the threads, so that they don't keep the owner alive.
private final class Core: Sendable {
    private let jobs = Mutex((waiting: Deque<@Sendable () -> Void>(), isStopped: false))
    private let threads: Int
    private let priority: PasswordPriority
    private let wake = DispatchSemaphore(value: 0)

    init(threads: Int, priority: PasswordPriority) {
        self.priority = priority
        self.threads = threads
    }

    func submit(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.waiting.append(job) }
        wake.signal()
    }

    func work() {
        if priority == .low { Self.lowerPriority() }
        while true {
            wake.wait()
            let (job, isStopped) = jobs.withLock { ($0.waiting.popFirst(), $0.isStopped) }
            if let job { job() } else if isStopped { return }
        }
    }

    /// Ends the threads. A caller that waits for a job holds the pool, so none waits.
    func stop() {
        jobs.withLock { $0.isStopped = true }
        for _ in 0..<threads { wake.signal() }
    }

    /// On Linux a thread has a nice value of its own, and 0 names the calling one; elsewhere it would be the process's.
    private static func lowerPriority() {
        #if os(Linux)
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
    }
}
