import AdapterKit

/// Requests that are answered later (Protocol 4.01, section 11.6): runs them and keeps their answers in files for a while.
///
/// It owns their tasks, each until its answer is not kept any more: ``stop()`` ends them.
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

    /// Starts the work and gives the name under which its answer is asked for; nobody can guess it. `failure`: what is
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
