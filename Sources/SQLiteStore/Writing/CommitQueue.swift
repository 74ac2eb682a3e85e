/// Which transactions wait, which go together, and who is told that there is no room: the state machine behind group
/// commit. It does nothing itself; ``Writer`` holds it under a lock and does what it says.
package struct CommitQueue<Job> {
    package enum Admission: Equatable {
        /// Nobody is committing: begin.
        case begin
        /// Whoever is committing goes on with it.
        case queued
        case full
        case closed
    }

    private let limits: CommitQueueLimits
    private var waiting: [(job: Job, steps: Int)] = []
    private var waitingSteps = 0
    private var isCommitting = false
    private var isClosed = false

    package init(limits: CommitQueueLimits) {
        self.limits = limits
    }

    package mutating func admit(_ job: Job, steps: Int) -> Admission {
        if isClosed { return .closed }
        let isAlone = waiting.isEmpty
        guard isAlone || (waiting.count < limits.transactions && waitingSteps + steps <= limits.steps) else {
            return .full
        }
        waiting.append((job, steps))
        waitingSteps += steps
        if isCommitting { return .queued }
        isCommitting = true
        return .begin
    }

    /// The transactions of the next commit, in the order in which they came; none: committing has ended.
    package mutating func next() -> [Job] {
        var count = 0
        var steps = 0
        while count < waiting.count, count == 0 || steps + waiting[count].steps <= limits.stepsPerCommit {
            steps += waiting[count].steps
            count += 1
        }
        let batch = waiting[..<count].map(\.job)
        // Cannot trap: counted in the queue.
        waiting.removeFirst(count)
        waitingSteps -= steps
        isCommitting = !batch.isEmpty
        return batch
    }

    /// Takes nothing more. What waits is still committed.
    package mutating func close() {
        isClosed = true
    }
}
