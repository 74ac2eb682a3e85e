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
