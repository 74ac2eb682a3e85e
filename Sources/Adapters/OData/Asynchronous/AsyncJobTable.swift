import AdapterKit

/// How much of requests that are answered later there may be.
struct AsyncLimits: Sendable {
    /// Under way at once, for all callers together.
    var running = 64
    var runningPerCaller = 8
    /// Answers that are kept; the oldest of the caller that has the most goes first.
    var kept = 1_000
    var keptPerCaller = 100
    /// Bytes of one answer, of a caller's, and of all.
    var answerBytes = 256 << 20
    var callerBytes = 256 << 20
    var bytes = 1 << 30
    /// Seconds for which a request may be worked on, and for which its answer can be fetched.
    var seconds = 300
    var keptSeconds = 900
}

/// What is known of requests that are answered later: a state machine that knows no task, no file and no clock.
struct AsyncJobTable<OperationResult: Sendable> {
    enum Progress: Sendable {
        case running
        case done(OperationResult)
    }

    /// Who may ask for an answer: everybody who is not signed in is one, and has the job's name only.
    struct Owner: Hashable, Sendable {
        let service: String
        let kind: Principal.Kind
        let id: String

        init(_ caller: Principal, at service: String) {
            (self.service, kind, id) = (service, caller.kind, caller.id)
        }
    }

    private struct Job {
        let owner: Owner
        /// Whose share it uses.
        let caller: CallerIdentity
        var bytes = 0
        var answer: OperationResult?
    }

    private let limits: AsyncLimits
    private var jobs: [String: Job] = [:]
    /// Of those that are done, oldest first.
    private var done: [String] = []

    init(limits: AsyncLimits) {
        self.limits = limits
    }

    /// Throws `server.overloaded` where too many are under way.
    mutating func begin(_ id: String, for owner: Owner, by caller: CallerIdentity) throws(PorticoError) {
        let running = jobs.values.filter { $0.answer == nil }
        guard running.count < limits.running, running.count(where: { $0.caller == caller }) < limits.runningPerCaller
        else { throw PorticoError(.overloaded, "Too many requests are answered later already.", retryAfter: 1) }
        jobs[id] = Job(owner: owner, caller: caller)
    }

    /// Counts bytes of its answer before they are kept. Older answers make room. Throws `request.limitExceeded` where its
    /// caller has too many, `server.overloaded` where all have, and `CancellationError` where it is not wanted any more.
    mutating func reserve(_ bytes: Int, for id: String) throws {
        guard let job = jobs[id] else { throw CancellationError() }
        guard job.bytes + bytes <= limits.answerBytes else {
            throw PorticoError(
                .requestLimitExceeded, "An answer that comes later has at most \(limits.answerBytes) bytes.")
        }
        while self.bytes(of: job.caller) + bytes > limits.callerBytes {
            guard removeOldest(of: job.caller) else {
                throw PorticoError(
                    .requestLimitExceeded, "A caller's answers have at most \(limits.callerBytes) bytes together.")
            }
        }
        while jobs.values.reduce(0, { $0 + $1.bytes }) + bytes > limits.bytes {
            guard let largest = largestKeeper(by: \.bytes),
                self.bytes(of: largest) >= self.bytes(of: job.caller), removeOldest(of: largest)
            else { throw PorticoError(.overloaded, "There is no room for more answers.", retryAfter: 60) }
        }
        jobs[id]?.bytes += bytes
    }

    /// False for one that was cancelled meanwhile.
    mutating func finish(_ id: String, with answer: OperationResult) -> Bool {
        guard let job = jobs[id] else { return false }
        jobs[id]?.answer = answer
        done.append(id)
        if done.count(where: { jobs[$0]?.caller == job.caller }) > limits.keptPerCaller {
            _ = removeOldest(of: job.caller)
        }
        if done.count > limits.kept, let largest = largestKeeper(by: { _ in 1 }) { _ = removeOldest(of: largest) }
        return true
    }

    /// Nil for another's, and for one that is not there or no longer.
    func progress(of id: String, for owner: Owner) -> Progress? {
        guard let job = jobs[id], job.owner == owner else { return nil }
        return job.answer.map(Progress.done) ?? .running
    }

    /// Whether there was one.
    mutating func remove(_ id: String, for owner: Owner) -> Bool {
        guard jobs[id]?.owner == owner else { return false }
        remove(id)
        return true
    }

    /// Whoever it is of.
    mutating func remove(_ id: String) {
        jobs[id] = nil
        done.removeAll { $0 == id }
    }

    /// The service's answers, whoever they are of.
    mutating func removeAnswers(of service: String) {
        for id in done where jobs[id]?.owner.service == service { jobs[id] = nil }
        done.removeAll { jobs[$0] == nil }
    }

    private func bytes(of caller: CallerIdentity) -> Int {
        jobs.values.reduce(0) { $1.caller == caller ? $0 + $1.bytes : $0 }
    }

    /// Of those that have an answer.
    private func largestKeeper(by size: (Job) -> Int) -> CallerIdentity? {
        var sizes: [CallerIdentity: Int] = [:]
        for job in done.compactMap({ jobs[$0] }) { sizes[job.caller, default: 0] += size(job) }
        return sizes.max { $0.value < $1.value }?.key
    }

    /// Whether there was one that is done.
    private mutating func removeOldest(of caller: CallerIdentity) -> Bool {
        guard let oldest = done.first(where: { jobs[$0]?.caller == caller }) else { return false }
        remove(oldest)
        return true
    }
}
