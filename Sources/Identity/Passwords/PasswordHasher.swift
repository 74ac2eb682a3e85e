import AdapterKit
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
                threads: HashingThreadPool(threads: limits.slots, limit: limits.waiting, priority: priority))
        }
        normal = queue(.normal)
        low = queue(.low)
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
/// At most `threads` hashes hold memory at once. The queue is bounded; one more is refused with `server.overloaded`. A
/// caller that is cancelled while it waits leaves the queue. The threads end when this object goes.
package final class HashingThreadPool: Sendable {
    private let core: Core

    package init(threads: Int, limit: Int, priority: PasswordPriority = .normal) {
        core = Core(limit: limit, threads: threads, priority: priority)
        for _ in 0..<threads {
            Thread.detachNewThread { [core] in core.work() }
        }
    }

    deinit { core.stop() }

    /// How many wait for a thread.
    package var waiting: Int { core.queue.withLock { $0.count } }

    package func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        let number = core.queue.withLock { $0.nextNumber() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Result, any Error>) in
                core.submit(
                    HashingQueue.Job(
                        number: number, run: { waiter.resume(with: Swift.Result { try work() }) },
                        abandon: { waiter.resume(throwing: $0) }))
                if Task.isCancelled { core.cancel(number) }
            }
        } onCancel: {
            core.cancel(number)
        }
    }
}

/// Shared with the threads, so that they don't keep the owner alive.
private final class Core: Sendable {
    let queue: Mutex<HashingQueue>
    private let threads: Int
    private let priority: PasswordPriority
    private let wake = DispatchSemaphore(value: 0)

    init(limit: Int, threads: Int, priority: PasswordPriority) {
        queue = Mutex(HashingQueue(limit: limit))
        self.priority = priority
        self.threads = threads
    }

    func submit(_ job: HashingQueue.Job) {
        let refusal = queue.withLock { queue -> PorticoError? in
            if queue.isStopped { return PorticoError(.stopping, "The server is stopping.") }
            if queue.isFull { return PorticoError(.overloaded, "Too many sign-ins at once.", retryAfter: 5) }
            queue.append(job)
            return nil
        }
        if let refusal { job.abandon(refusal) } else { wake.signal() }
    }

    func cancel(_ number: UInt64) {
        queue.withLock { $0.remove(number) }?.abandon(CancellationError())
    }

    func work() {
        if priority == .low { Self.lowerPriority() }
        while true {
            wake.wait()
            let (job, isStopped) = queue.withLock { ($0.takeFirst(), $0.isStopped) }
            // A cancelled job leaves its signal behind: there may be nothing to do.
            if let job { job.run() } else if isStopped { return }
        }
    }

    func stop() {
        for job in queue.withLock({ $0.stop() }) {
            job.abandon(PorticoError(.stopping, "The server is stopping."))
        }
        for _ in 0..<threads { wake.signal() }
    }

    /// On Linux a thread has a nice value of its own, and 0 names the calling one; elsewhere it would be the process's.
    private static func lowerPriority() {
        #if os(Linux)
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
    }
}

/// Which hashes wait, in the order in which they came. Synchronous; ``HashingThreadPool`` executes it.
struct HashingQueue: Sendable {
    struct Job: Sendable {
        let number: UInt64
        let run: @Sendable () -> Void
        let abandon: @Sendable (any Error) -> Void
    }

    let limit: Int
    private(set) var isStopped = false
    private var waiting: [Job] = []
    private var lastNumber: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { waiting.count }
    var isFull: Bool { waiting.count >= limit }

    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// The limit keeps the array short, so its front may be taken off.
    mutating func append(_ job: Job) {
        waiting.append(job)
    }

    mutating func takeFirst() -> Job? {
        waiting.isEmpty ? nil : waiting.removeFirst()
    }

    /// Nil where it runs already, or has.
    mutating func remove(_ number: UInt64) -> Job? {
        waiting.firstIndex { $0.number == number }.map { waiting.remove(at: $0) }
    }

    /// Gives back what still waits.
    mutating func stop() -> [Job] {
        isStopped = true
        defer { waiting = [] }
        return waiting
    }
}
