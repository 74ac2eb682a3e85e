import AdapterKit

/// Requests that are answered later (Protocol 4.01, section 11.6): runs them and keeps their answers for a while.
///
/// It owns their tasks: ``stop()`` ends them.
actor LaterAnswers {
    private var book: JobBook
    private var tasks: [String: Task<Void, Never>] = [:]

    init(limits: JobBook.Limits = JobBook.Limits()) {
        book = JobBook(limits: limits)
    }

    /// Starts the work and gives the name under which its answer is asked for; nobody can guess it.
    func start(for caller: Principal, _ work: @escaping @Sendable () async -> DoorAnswer) throws -> String {
        let id = RandomGUID.next()
        try book.begin(id, for: caller)
        tasks[id] = Task {
            let answer = await work()
            finish(id, answer)
        }
        return id
    }

    private func finish(_ id: String, _ answer: DoorAnswer) {
        tasks[id] = nil
        book.finish(id, with: answer, at: .now)
    }

    func standing(_ id: String, for caller: Principal) -> JobBook.Standing? {
        book.standing(id, for: caller, at: .now)
    }

    /// Ends the work, as far as it has not ended, and forgets its answer. False: there is none of that name.
    func cancel(_ id: String, for caller: Principal) -> Bool {
        guard book.remove(id, for: caller) else { return false }
        tasks.removeValue(forKey: id)?.cancel()
        return true
    }

    func forgetAnswers() { book.forgetAnswers() }

    func stop() async {
        let running = Array(tasks.values)
        for task in running { task.cancel() }
        for task in running { await task.value }
    }
}
