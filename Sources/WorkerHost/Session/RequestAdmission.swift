import AdapterKit
import Admission
import DequeModule
import Synchronization

/// Which of a worker's requests are served, and which wait for that: a policy.
///
/// A worker's requests share its *permits*, in the order in which they came. The changes of those that are served are bounded,
/// too; a request that waits for that is passed by those that change nothing. What the host itself asks for in the course of one of
/// the requests, a rule's answer for instance, has one permit of its own for its requests: the one that waits for it holds one of the
/// shared permits meanwhile.
struct RequestAdmission: AdmissionPolicy {
    struct Request: Sendable, Equatable {
        /// The scope that has a permit of its own; nil: none.
        var scope: Int?
        var changes = 0
    }

    private let permits: Int
    private let changesAtOnce: Int
    private var shared = 0
    /// The requests that have the permit of their scope.
    private var own: [Int: AdmissionTicket] = [:]
    private var changes = 0
    private var waiting: Deque<(ticket: AdmissionTicket, request: Request)> = []

    init(permits: Int, changes: Int) { (self.permits, changesAtOnce) = (permits, changes) }

    var counts: AdmissionCounts { AdmissionCounts(running: shared + own.count, waiting: waiting.count) }

    mutating func arrive(
        _ request: Request, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, PorticoError> {
        waiting.append((ticket, request))
        return .undecided
    }

    mutating func leave(_ request: Request, as ticket: AdmissionTicket, _ end: Void, at now: Instant) {
        changes -= request.changes
        if let scope = request.scope, own[scope] == ticket { own[scope] = nil } else { shared -= 1 }
    }

    mutating func abandon(_ ticket: AdmissionTicket) { waiting.removeAll { $0.ticket == ticket } }

    mutating func next(at now: Instant) -> AdmissionDecision<Void, PorticoError>? {
        if let position = waiting.firstIndex(where: { $0.request.scope.map { own[$0] == nil } ?? false }) {
            let (ticket, request) = admitWaiting(at: position)
            if let scope = request.scope { own[scope] = ticket }
            return .admit(ticket, ())
        }
        guard shared < permits, let position = nextShared() else { return nil }
        shared += 1
        return .admit(admitWaiting(at: position).ticket, ())
    }

    /// The first, or the first that changes nothing where the changes of the first must wait.
    private func nextShared() -> Int? {
        let first = waiting.firstIndex { $0.request.changes > 0 }
        return waiting.indices.first { position in
            waiting[position].request.changes == 0 || position == first && fits(waiting[position].request.changes)
        }
    }

    private func fits(_ count: Int) -> Bool { changes == 0 || count <= changesAtOnce - changes }

    private mutating func admitWaiting(at position: Int) -> (ticket: AdmissionTicket, request: Request) {
        let next = waiting.remove(at: position)
        changes += next.request.changes
        return next
    }
}

/// Serves a worker's requests in their turns, and each until its deadline. Safe to use from any task.
final class RequestTurns: Sendable {
    private static let late = PorticoError(.deadlineExceeded, "This took too long.")

    private let queue: AdmissionQueue<RequestAdmission>

    init(permits: Int, changes: Int) {
        queue = AdmissionQueue(RequestAdmission(permits: permits, changes: changes), late: Self.late)
    }

    /// Runs the body when the request has its turn. Throws `server.deadlineExceeded` where it has not ended soon after its
    /// deadline, when `cancel` is called, which cancels the task.
    func serve<Result: Sendable>(
        scope: Int?, changes: Int, until deadline: ContinuousClock.Instant, cancel: @escaping @Sendable () -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let place = try await queue.acquire(.init(scope: scope, changes: changes), until: deadline).place
        queue.hold(place, until: deadline, end: cancel)
        defer { queue.leave(place) }
        do {
            return try await body()
        } catch {
            throw queue.isEnded(place) ? Self.late : error
        }
    }
}

/// The bytes of bodies that are held for a worker at once. Safe to use from any task.
final class HeldBytes: Sendable {
    private let limit: Int
    private let held = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// Throws `server.overloaded` where as many as the limit are held already.
    func add(_ count: Int) throws(PorticoError) {
        let isTaken = held.withLock { held in
            guard held < limit else { return false }
            held += count
            return true
        }
        guard isTaken else {
            throw PorticoError(
                .overloaded, "The adapter has too many bodies under way.", retryAfter: 1,
                logDetail: "\(limit) bytes are held for it")
        }
    }

    /// Adds what cannot be refused any more.
    func hold(_ count: Int) { held.withLock { $0 += count } }

    func remove(_ count: Int) { held.withLock { $0 -= count } }
}
