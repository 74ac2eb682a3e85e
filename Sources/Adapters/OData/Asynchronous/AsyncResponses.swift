import AdapterKit

/// Runs requests that are answered asynchronously (Protocol 4.01, section 11.6) and keeps their responses in files for
/// a limited time.
///
/// It owns the tasks of the running requests; ``stop()`` ends them.
actor AsyncResponses {
    typealias Owner = AsyncJobTable<KeptLater>.Owner

    private let limits: AsyncLimits
    private let files: any ScratchStorage
    private var book: AsyncJobTable<KeptLater>
    private var tasks: [String: Task<Void, Never>] = [:]

    init(limits: AsyncLimits, files: any ScratchStorage) {
        self.limits = limits
        self.files = files
        book = AsyncJobTable(limits: limits)
    }

    /// Starts the work and returns the name of its response, which cannot be guessed. `failure`: what is
    /// answered where the work throws, or its answer is too large.
    func start(
        for owner: Owner, _ work: @escaping @Sendable () async throws -> MountResponse,
        failure: @escaping @Sendable (any Error) -> MountResponse
    ) throws -> String {
        let id = RandomGUID.next()
        try book.begin(id, for: owner, by: .current)
        tasks[id] = Task {
            let answer: KeptLater
            do {
                answer = try await TimeLimit.run(.seconds(limits.seconds), late: Self.late) { [self] in
                    try await keep(try await work(), of: id)
                }
            } catch {
                answer = KeptLater(failure(error))
            }
            if book.finish(id, with: answer) { try? await Task.sleep(for: .seconds(limits.keptSeconds)) }
            book.remove(id)
            tasks[id] = nil
        }
        return id
    }

    private static let late = PorticoError(.deadlineExceeded, "The request took too long.")

    /// In a file, but for what is small.
    private nonisolated func keep(_ answer: MountResponse, of id: String) async throws -> KeptLater {
        switch answer.body {
        case .bytes(let bytes):
            try await reserve(bytes.count, for: id)
            guard bytes.count > KeptLater.small else { return KeptLater(answer) }
            let file = try files.create()
            try file.append(bytes)
            return KeptLater(answer, in: file, size: bytes.count)
        case .stream(let pieces):
            defer { pieces.cancel() }
            let file = try files.create()
            var size = 0
            try await withTaskCancellationHandler {
                while let piece = try await pieces.next() {
                    try Task.checkCancellation()
                    try await reserve(piece.count, for: id)
                    try file.append(piece)
                    size += piece.count
                }
            } onCancel: {
                pieces.cancel()
            }
            return KeptLater(answer, in: file, size: size)
        }
    }

    private func reserve(_ bytes: Int, for id: String) throws { try book.reserve(bytes, for: id) }

    func progress(of id: String, for owner: Owner) -> AsyncJobTable<KeptLater>.Progress? {
        book.progress(of: id, for: owner)
    }

    /// Ends the work, as far as it has not ended, and forgets its answer. False: there is none of that name.
    func cancel(_ id: String, for owner: Owner) -> Bool {
        guard book.remove(id, for: owner) else { return false }
        tasks.removeValue(forKey: id)?.cancel()
        return true
    }

    func forgetAnswers(of service: String) { book.removeAnswers(of: service) }

    func stop() async {
        let running = Array(tasks.values)
        for task in running { task.cancel() }
        for task in running { await task.value }
    }
}

/// An answer that is fetched later.
struct KeptLater: Sendable {
    /// Bytes of a body that is kept in memory.
    static let small = 4 << 10

    private let head: MountResponse
    private let file: (any ScratchFile)?
    /// Bytes of the body.
    let size: Int

    init(_ answer: MountResponse) {
        (head, file, size) = (answer, nil, answer.wholeBody.count)
    }

    init(_ answer: MountResponse, in file: any ScratchFile, size: Int) {
        head = MountResponse(answer.status, headers: answer.headers)
        (self.file, self.size) = (file, size)
    }

    /// Read from its file as it is taken.
    func answer() throws -> MountResponse {
        guard let file else { return head }
        return MountResponse(head.status, headers: head.headers, body: .stream(try file.contents()))
    }
}

/// The state of asynchronous requests, as a state machine without tasks, files or clock.
struct AsyncJobTable<OperationResult: Sendable> {
    enum Progress: Sendable {
        case running
        case done(OperationResult)
    }

    /// The owner of a response: the caller with the roles and attributes by which it was made, so that no caller fetches what
    /// it may not read any more. All anonymous callers are one owner; they need the job's unguessable name.
    struct Owner: Hashable, Sendable {
        let service: String
        let caller: Principal

        init(_ caller: Principal, at service: String) {
            (self.service, self.caller) = (service, caller)
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

    /// Of any caller.
    mutating func remove(_ id: String) {
        jobs[id] = nil
        done.removeAll { $0 == id }
    }

    /// All responses of the service.
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

/// Cancels work after a time limit.
enum TimeLimit {
    /// Throws `late` then. Returns when the work has ended, which it does soon after it is cancelled.
    static func run<Result: Sendable>(
        _ time: Duration, late: PorticoError, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { tasks in
            tasks.addTask { try await work() }
            tasks.addTask {
                try await Task.sleep(for: max(time, .zero))
                throw late
            }
            defer { tasks.cancelAll() }
            guard let first = try await tasks.next() else { throw CancellationError() }
            return first
        }
    }
}
