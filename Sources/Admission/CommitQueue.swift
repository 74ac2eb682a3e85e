import AdapterKit
import DequeModule

/// Which transactions wait, which go together into one commit, and which are refused because the queue is full: the policy behind
/// group commit. A store's writer asks for one batch after the other.
///
/// Callers whose transactions wait take turns; those of one caller keep their order. One caller's take half of the queue at
/// most.
package struct CommitQueue: AdmissionPolicy {
    /// The cost of a transaction, and its caller.
    package struct Request: Sendable {
        package let steps: Int
        package let caller: CallerIdentity

        package init(steps: Int, caller: CallerIdentity) { (self.steps, self.caller) = (steps, caller) }
    }

    /// Transactions of one caller that wait.
    private struct Waiting {
        private(set) var jobs: Deque<(ticket: AdmissionTicket, steps: Int)> = []
        private(set) var steps = 0

        mutating func append(_ ticket: AdmissionTicket, _ steps: Int) {
            jobs.append((ticket, steps))
            self.steps += steps
        }

        mutating func removeFirst() { remove(at: jobs.startIndex) }

        mutating func remove(at place: Int) { steps -= jobs.remove(at: place).steps }
    }

    private let limits: CommitQueueLimits
    private var waiting: [CallerIdentity: Waiting] = [:]
    /// The callers with waiting transactions, in the order of their turns.
    private var turns: Deque<CallerIdentity> = []
    private var waitingSteps = 0
    /// Steps that the batch takes still; nil: no batch is being made.
    private var room: Int?
    private var isBatchEmpty = true

    /// Whether batches are being committed: who ends the last one begins none.
    package private(set) var isCommitting = false
    package private(set) var counts = AdmissionCounts(running: 0, waiting: 0)

    package init(limits: CommitQueueLimits) {
        self.limits = limits
    }

    package mutating func arrive(
        _ request: Request, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, PorticoError> {
        guard
            counts.waiting == 0
                || (counts.waiting < limits.transactions && waitingSteps + request.steps <= limits.steps)
        else { return .refused(Self.full) }
        if let own = waiting[request.caller],
            own.jobs.count >= limits.transactions / 2 || own.steps + request.steps > limits.steps / 2
        {
            return .refused(Self.full)
        }
        if waiting[request.caller] == nil { turns.append(request.caller) }
        waiting[request.caller, default: Waiting()].append(ticket, request.steps)
        waitingSteps += request.steps
        counts.waiting += 1
        return .waits
    }

    private static let full = PorticoError(
        .overloaded, "Too many changes are waiting to be written.", retryAfter: 1)

    /// Whether committing is to begin now, because no caller commits.
    package mutating func begins() -> Bool {
        defer { isCommitting = true }
        return !isCommitting
    }

    /// The transactions of the next commit are those that are admitted until ``endBatch()``.
    package mutating func beginBatch() {
        (room, isBatchEmpty) = (limits.stepsPerCommit, true)
    }

    package mutating func endBatch() {
        room = nil
        isCommitting = !isBatchEmpty
    }

    /// In the order of the callers' turns.
    package mutating func next(at now: Instant) -> AdmissionDecision<Void, PorticoError>? {
        guard let room, let caller = turns.first, let next = waiting[caller]?.jobs.first,
            isBatchEmpty || next.steps <= room
        else { return nil }
        self.room = room - next.steps
        isBatchEmpty = false
        turns.removeFirst()
        waiting[caller]?.removeFirst()
        if waiting[caller]?.jobs.isEmpty ?? true { waiting[caller] = nil } else { turns.append(caller) }
        waitingSteps -= next.steps
        counts.waiting -= 1
        counts.running += 1
        return .admit(next.ticket, ())
    }

    package mutating func leave(_ request: Request, as ticket: AdmissionTicket, _ end: Void, at now: Instant) {
        counts.running -= 1
    }

    package mutating func abandon(_ ticket: AdmissionTicket) {
        for (caller, own) in waiting {
            guard let place = own.jobs.firstIndex(where: { $0.ticket == ticket }) else { continue }
            waitingSteps -= own.jobs[place].steps
            waiting[caller]?.remove(at: place)
            counts.waiting -= 1
            guard own.jobs.count == 1 else { return }
            waiting[caller] = nil
            turns.removeAll { $0 == caller }
            return
        }
    }
}

/// Limits of what may wait to be written.
public struct CommitQueueLimits: Sendable, Equatable {
    /// Transactions that wait at most; half of them of one caller.
    public var transactions: Int
    /// Changes that all waiting transactions have at most, half of them of one caller. A larger one is taken where nothing
    /// else waits, and within that limit where nothing of its caller waits.
    public var steps: Int
    /// Changes that one commit takes together, so that the first to come does not wait for all the others.
    public var stepsPerCommit: Int

    public init(transactions: Int = 4096, steps: Int = 200_000, stepsPerCommit: Int = 4096) {
        self.transactions = transactions
        self.steps = steps
        self.stepsPerCommit = stepsPerCommit
    }
}
