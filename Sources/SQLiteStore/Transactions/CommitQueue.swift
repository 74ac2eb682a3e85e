import AdapterKit
import Admission
import DequeModule
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization

/// Which transactions wait, which go together into one commit, and which are refused because the queue is full: the policy behind
/// group commit. ``Writer`` asks for one batch after the other.
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

/// Makes several transactions durable with one commit: each in a savepoint of its own, so that one that is refused
/// takes nothing of the others with it.
final class GroupCommit: Sendable {
    typealias Outcome = Result<any Sendable, any Error>
    /// A caller's work: all of it is done, or nothing where it throws.
    typealias Work = @Sendable (CommitChanges) throws -> any Sendable

    private let catalogue: @Sendable () -> LayoutCatalogue
    private let positions: LogPositions
    private let health: StoreHealth
    private let clock: any WallClock
    private let ids: any RecordIDSource
    private let statistics: TableStatistics
    /// Set while it is open what is on the disk.
    private let outage = Mutex<Outage?>(nil)
    private let attemptedRecoveries = Atomic<Int>(0)

    private struct Outage {
        let error: PorticoError
        let isForGood: Bool
    }

    init(
        positions: LogPositions, health: StoreHealth, clock: any WallClock, ids: any RecordIDSource,
        statistics: TableStatistics,
        catalogue: @escaping @Sendable () -> LayoutCatalogue
    ) {
        self.positions = positions
        self.health = health
        self.clock = clock
        self.ids = ids
        self.statistics = statistics
        self.catalogue = catalogue
    }

    /// Times that ``WriterRecovery`` was tried, which empties the write-ahead log.
    var recoveries: Int { attemptedRecoveries.load(ordering: .relaxed) }

    /// One outcome for each, in order. A receipt is durable.
    func commit(_ transactions: [Work], on database: Database) -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: transactions.count)
        while true {
            if let error = stillFailing(on: database) { return outcomes.map { $0 ?? .failure(error) } }
            let open = outcomes.indices.filter { outcomes[$0] == nil }
            if open.isEmpty { return outcomes.compactMap { $0 } }
            attempt(open, of: transactions, on: database, &outcomes)
        }
    }

    /// After a commit. What goes wrong costs a good plan and no write, so it is reported to the store's health and not to a caller.
    func refreshStatistics(on database: Database) {
        do { try statistics.refresh(on: database) } catch { health.note(error) }
    }

    /// Settles all open transactions, or at least one where SQLite has rolled the others back with it.
    private func attempt(
        _ open: [Int], of transactions: [Work], on database: Database, _ outcomes: inout [Outcome?]
    ) {
        var attempted = outcomes
        do {
            try database.run("BEGIN IMMEDIATE")
            let changes = CommitChanges(
                database: database, catalogue: catalogue(), revision: positions.last, ids: ids, now: clock.now())
            for index in open {
                attempted[index] = Result { try transactions[index](changes) }
                if case .failure(let error)? = attempted[index] { health.note(error) }
                guard changes.isOpen else {
                    outcomes[index] = attempted[index]
                    return
                }
            }
            try changes.finish()
            try database.run("COMMIT")
            positions.advance(to: changes.revision, adapters: changes.touched)
            statistics.note(created: changes.created)
            outcomes = attempted
            refuseAcknowledging(open, &outcomes)
        } catch {
            abandon(open, because: error, on: database, attempted, &outcomes)
        }
    }

    /// Refuses to acknowledge what was committed into a file that is not in its place: it is lost with this process.
    private func refuseAcknowledging(_ open: [Int], _ outcomes: inout [Outcome?]) {
        do throws(PorticoError) {
            try health.checkPlaces()
        } catch {
            for index in open {
                if case .success? = outcomes[index] { outcomes[index] = .failure(error) }
            }
        }
    }

    /// The commit itself failed: nothing of it counts, and what was refused before stays refused.
    private func abandon(
        _ open: [Int], because error: any Error, on database: Database, _ attempted: [Outcome?],
        _ outcomes: inout [Outcome?]
    ) {
        if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? database.run("ROLLBACK") }
        let reason = PorticoError.wrapping(error)
        note(error, reason)
        for index in open {
            if case .failure? = attempted[index] {
                outcomes[index] = attempted[index]
            } else {
                outcomes[index] = .failure(reason)
            }
        }
    }

    /// Looks whether the files are in their places, and tries to get over a failure before anything else is written.
    func stillFailing(on database: Database) -> PorticoError? {
        do throws(PorticoError) {
            try health.checkPlaces()
        } catch {
            return error
        }
        guard let known = outage.withLock({ $0 }) else { return nil }
        if known.isForGood { return known.error }
        attemptedRecoveries.add(1, ordering: .relaxed)
        do {
            try WriterRecovery(database: database, positions: positions).run()
            outage.withLock { $0 = nil }
            return nil
        } catch {
            note(error, .wrapping(error))
            return known.error
        }
    }

    func note(_ error: any Error, _ reason: PorticoError) {
        health.note(error)
        guard let failure = error as? SQLiteFailure, failure.isOfTheDisk || failure.isOfTheFile else { return }
        outage.withLock { $0 = Outage(error: reason, isForGood: failure.isOfTheFile) }
    }
}
