import AdapterKit

/// What is known of requests that are answered later: a state machine that knows no task and no clock.
struct JobBook {
    struct Limits {
        /// Under way at once, for all callers together.
        var running = 64
        /// Kept with their answers; the oldest goes first.
        var kept = 1_000
        /// How long an answer can be fetched.
        var lifetime = Duration.seconds(900)
    }

    enum Standing {
        case running
        case done(DoorAnswer)
    }

    private struct Job {
        let owner: Principal.ID
        var answer: DoorAnswer?
        var expires: ContinuousClock.Instant?
    }

    private let limits: Limits
    private var jobs: [String: Job] = [:]
    /// Of those that are done, oldest first.
    private var done: [String] = []

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Throws `server.overloaded` where too many are under way.
    mutating func begin(_ id: String, for owner: Principal) throws(PorticoError) {
        guard jobs.count - done.count < limits.running else {
            throw PorticoError(.overloaded, "Too many requests are answered later already.", retryAfter: 1)
        }
        jobs[id] = Job(owner: owner.owning)
    }

    /// Does nothing for one that was cancelled meanwhile.
    mutating func finish(_ id: String, with answer: DoorAnswer, at now: ContinuousClock.Instant) {
        guard jobs[id] != nil else { return }
        jobs[id]?.answer = answer
        jobs[id]?.expires = now + limits.lifetime
        done.append(id)
        while done.count > limits.kept { jobs[done.removeFirst()] = nil }
    }

    /// Nil for another's, and for one that is not there or no longer.
    mutating func standing(_ id: String, for caller: Principal, at now: ContinuousClock.Instant) -> Standing? {
        expire(now)
        guard let job = jobs[id], job.owner == caller.owning else { return nil }
        return job.answer.map(Standing.done) ?? .running
    }

    /// Whether there was one.
    mutating func remove(_ id: String, for caller: Principal) -> Bool {
        guard let job = jobs[id], job.owner == caller.owning else { return false }
        jobs[id] = nil
        done.removeAll { $0 == id }
        return true
    }

    /// Forgets every answer.
    mutating func forgetAnswers() {
        for id in done { jobs[id] = nil }
        done = []
    }

    private mutating func expire(_ now: ContinuousClock.Instant) {
        while let first = done.first, let end = jobs[first]?.expires, end <= now {
            jobs[first] = nil
            done.removeFirst()
        }
    }
}

extension Principal {
    /// What tells whose a job is; everybody who is not signed in is one, and has the job's name only.
    struct ID: Hashable {
        let kind: Kind
        let id: String
    }

    fileprivate var owning: ID { ID(kind: kind, id: id) }
}
