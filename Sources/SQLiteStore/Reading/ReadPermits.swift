import AdapterKit
import Admission
import DequeModule
import GRDB
import Synchronization

/// A connection for as long as one read has it.
struct ReadPermit: Sendable {
    let connection: DatabaseQueue
    fileprivate let place: AdmissionPlace<ReadShares>
    fileprivate let since: ContinuousClock.Instant
}

/// Connections for reads in their turns (``ReadShares``), opened when they are first needed.
final class ReadPermits: Sendable {
    static let turnIsOver = PorticoError(
        .overloaded, "The search took its time while others waited.", retryAfter: 1)

    /// How long a read may go on while a caller waits who has none.
    private let turn: Duration
    private let open: @Sendable () throws -> DatabaseQueue
    private let queue: AdmissionQueue<ReadShares>
    /// Nil: closed.
    private let free = Mutex<[DatabaseQueue]?>([])

    init(_ limits: ReadShares.Limits, turn: Duration, open: @escaping @Sendable () throws -> DatabaseQueue) {
        self.turn = turn
        self.open = open
        queue = AdmissionQueue(ReadShares(limits))
    }

    /// Throws `server.overloaded` where too many wait, and `CancellationError` where the task is cancelled.
    func take(for caller: CallerIdentity) async throws -> ReadPermit {
        let place = try await queue.acquire(caller).place
        do {
            try Task.checkCancellation()
            let known = try free.withLock { free in
                if free == nil { throw PorticoError.closed }
                return free?.popLast()
            }
            return ReadPermit(connection: try known ?? open(), place: place, since: .now)
        } catch {
            queue.leave(place)
            throw error is CancellationError ? error : PorticoError.wrapping(error)
        }
    }

    /// The connection first: who gets the place finds it.
    func leave(_ permit: ReadPermit) {
        let isClosed = free.withLock { free in
            free?.append(permit.connection)
            return free == nil
        }
        if isClosed { try? permit.connection.close() }
        queue.leave(permit.place)
    }

    /// Whether the read is to end so that another caller gets its place. Cheap where its turn is not over.
    func isTurnOver(of permit: ReadPermit) -> Bool {
        guard ContinuousClock.now - permit.since >= turn else { return false }
        return queue.update { $0.endsTurn(of: permit.place.ticket) }
    }

    /// Reads that have a place and that wait for one.
    var counts: AdmissionCounts { queue.counts }

    func close() {
        let connections = free.withLock { free in
            defer { free = nil }
            return free ?? []
        }
        for connection in connections { try? connection.close() }
        queue.close(.closed)
    }
}

/// Which reads have one of a few places and which wait, in fair shares among callers: a policy.
///
/// A caller has all places but one at most, so that there is one for others. Of those that wait, the caller with the
/// fewest places is next, then the one that got its last place longest ago, then the one that came first. Where the queue
/// is full, the caller with the most reads in it gives one up. A read whose turn is over ends where a caller without a
/// place waits.
struct ReadShares: AdmissionPolicy {
    struct Limits {
        let places: Int
        /// Reads that wait, of all callers together.
        var waiting = 64
        /// How many places a caller keeps although another has none.
        var kept = 0

        var placesPerCaller: Int { max(1, places - 1) }
        /// Half, so that one caller alone never fills the queue.
        var waitingPerCaller: Int { max(1, waiting / 2) }
    }

    private let limits: Limits
    private var running: [AdmissionTicket: CallerIdentity] = [:]
    private var waiting: Deque<(ticket: AdmissionTicket, caller: CallerIdentity)> = []
    /// Gave their place in the queue up to others.
    private var evicted: Deque<AdmissionTicket> = []
    /// Those whose turn was ended, and which have not left yet.
    private var ending: Set<AdmissionTicket> = []
    /// When those that have or want a place got their last one, in admissions.
    private var served: [CallerIdentity: UInt64] = [:]
    private var admissions: UInt64 = 0

    private static let full = PorticoError(.overloaded, "Too many long searches are waiting.", retryAfter: 1)

    init(_ limits: Limits) {
        self.limits = limits
    }

    var counts: AdmissionCounts { AdmissionCounts(running: running.count, waiting: waiting.count + evicted.count) }

    mutating func arrive(
        _ caller: CallerIdentity, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, PorticoError> {
        if running.count < limits.places, places(of: caller) < limits.placesPerCaller {
            admit(ticket, caller)
            return .admitted(())
        }
        let own = waiting.count { $0.caller == caller }
        guard own < limits.waitingPerCaller else { return .refused(Self.full) }
        guard waiting.count >= limits.waiting else {
            waiting.append((ticket, caller))
            return .waits
        }
        guard let longest = longestQueue(), longest.count > own + 1,
            let last = waiting.lastIndex(where: { $0.caller == longest.caller })
        else { return .refused(Self.full) }
        evicted.append(waiting.remove(at: last).ticket)
        waiting.append((ticket, caller))
        return .undecided
    }

    mutating func leave(_ caller: CallerIdentity, as ticket: AdmissionTicket, _ end: Void, at now: Instant) {
        running[ticket] = nil
        ending.remove(ticket)
        forgetTurns()
    }

    mutating func next(at now: Instant) -> AdmissionDecision<Void, PorticoError>? {
        if let ticket = evicted.popFirst() { return .refuse(ticket, Self.full) }
        guard running.count < limits.places, let next = nextWaiting() else { return nil }
        let read = waiting.remove(at: next)
        admit(read.ticket, read.caller)
        return .admit(read.ticket, ())
    }

    mutating func abandon(_ ticket: AdmissionTicket) {
        waiting.removeAll { $0.ticket == ticket }
        forgetTurns()
    }

    /// Of callers that have and want no place.
    private mutating func forgetTurns() {
        let known = Set(running.values).union(waiting.map(\.caller))
        served = served.filter { known.contains($0.key) }
    }

    /// Of a read that has had its time: whether it is to end because a caller without a place waits. As many reads end as
    /// there are such callers.
    mutating func endsTurn(of ticket: AdmissionTicket) -> Bool {
        guard !waiting.isEmpty, let caller = running[ticket] else { return false }
        if ending.contains(ticket) { return true }
        let others = Set(waiting.lazy.map(\.caller)).filter { $0 != caller && places(of: $0) == 0 }
        let staying = running.count { $0.value == caller && !ending.contains($0.key) }
        guard ending.count < others.count, staying > limits.kept else { return false }
        ending.insert(ticket)
        return true
    }

    private mutating func admit(_ ticket: AdmissionTicket, _ caller: CallerIdentity) {
        running[ticket] = caller
        admissions += 1
        served[caller] = admissions
    }

    private func places(of caller: CallerIdentity) -> Int { running.count { $0.value == caller } }

    private func nextWaiting() -> Int? {
        waiting.indices.filter { places(of: waiting[$0].caller) < limits.placesPerCaller }
            .min { standing(of: waiting[$0].caller) < standing(of: waiting[$1].caller) }
    }

    private func standing(of caller: CallerIdentity) -> (places: Int, served: UInt64) {
        (places(of: caller), served[caller] ?? 0)
    }

    private func longestQueue() -> (caller: CallerIdentity, count: Int)? {
        Dictionary(grouping: waiting, by: \.caller).map { ($0.key, $0.value.count) }.max { $0.1 < $1.1 }
    }
}
