import AdapterKit
import Synchronization

/// Which of a worker's requests are served, and which wait for that: a state machine. ``RequestTurns`` executes it under a lock.
///
/// A worker's requests share its *permits*, in the order in which they came. The changes of those that are served are bounded,
/// too; a request that waits for that is passed by those that change nothing. What the host itself asks for in the course of one of
/// the requests, a rule's answer for instance, has one permit of its own for its requests: the one that waits for it holds one of the
/// shared permits meanwhile.
struct RequestAdmission {
    /// One request's turn.
    struct Turn: Sendable, Equatable {
        let number: UInt64
        /// What has a permit of its own; nil: nothing.
        let scope: Int?
        let changes: Int
    }

    private let permits: Int
    private let changesAtOnce: Int
    private var lastNumber: UInt64 = 0
    private var shared = 0
    /// The requests that have the permit of their scope.
    private var own: [Int: UInt64] = [:]
    private var changes = 0
    private var waiting: [Turn] = []

    init(permits: Int, changes: Int) { (self.permits, changesAtOnce) = (permits, changes) }

    mutating func enter(scope: Int?, changes: Int) -> (turn: Turn, isAdmitted: Bool) {
        lastNumber += 1
        let turn = Turn(number: lastNumber, scope: scope, changes: changes)
        if let scope, own[scope] == nil {
            admitToOwnPlace(turn, of: scope)
            return (turn, true)
        }
        let mayPass = changes == 0 || fits(changes) && !waiting.contains { $0.changes > 0 }
        guard shared < permits, mayPass else {
            waiting.append(turn)
            return (turn, false)
        }
        admit(turn)
        return (turn, true)
    }

    /// A request that had its turn has ended. Returns the numbers of those that have one now.
    mutating func leave(_ turn: Turn) -> [UInt64] {
        changes -= turn.changes
        var admitted: [UInt64] = []
        if let scope = turn.scope, own[scope] == turn.number {
            own[scope] = nil
            if let next = waiting.firstIndex(where: { $0.scope == scope }) {
                let turn = waiting.remove(at: next)
                admitToOwnPlace(turn, of: scope)
                admitted.append(turn.number)
            }
        } else {
            shared -= 1
        }
        return admitted + admitWaiting()
    }

    /// Whether it was still waiting; otherwise it has its turn and has to leave it.
    mutating func giveUp(_ turn: Turn) -> Bool {
        guard let position = waiting.firstIndex(of: turn) else { return false }
        waiting.remove(at: position)
        return true
    }

    private mutating func admitWaiting() -> [UInt64] {
        var admitted: [UInt64] = []
        var position = 0
        var changesWait = false
        while shared < permits, position < waiting.count {
            let turn = waiting[position]
            guard turn.changes == 0 || !changesWait && fits(turn.changes) else {
                changesWait = true
                position += 1
                continue
            }
            waiting.remove(at: position)
            admit(turn)
            admitted.append(turn.number)
        }
        return admitted
    }

    private func fits(_ count: Int) -> Bool { changes == 0 || count <= changesAtOnce - changes }

    private mutating func admit(_ turn: Turn) {
        shared += 1
        changes += turn.changes
    }

    private mutating func admitToOwnPlace(_ turn: Turn, of scope: Int) {
        own[scope] = turn.number
        changes += turn.changes
    }
}

/// Serves a worker's requests in their turns, and each until its deadline. Safe to use from any task.
final class RequestTurns: Sendable {
    private struct UnderWay {
        let deadline: ContinuousClock.Instant
        let cancel: @Sendable () -> Void
        var isExpired = false
    }

    private struct State {
        var admission: RequestAdmission
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        /// Given their turn, or given up, before they had begun to wait.
        var early: [UInt64: Result<Void, any Error>] = [:]
        var underWay: [UInt64: UnderWay] = [:]
        var watch: Task<Void, Never>?
        var isClosed = false
    }

    /// How often it is looked for requests whose deadline has passed.
    private static let pause = Duration.seconds(1)

    private let state: Mutex<State>

    init(permits: Int, changes: Int) {
        state = Mutex(State(admission: RequestAdmission(permits: permits, changes: changes)))
    }

    /// Runs the body when the request has its turn. Throws `server.deadlineExceeded` where it has not ended soon after its
    /// deadline, when `cancel` is called, which cancels the task.
    func serve<Result: Sendable>(
        scope: Int?, changes: Int, until deadline: ContinuousClock.Instant, cancel: @escaping @Sendable () -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let (turn, isAdmitted) = state.withLock { state in
            let entered = state.admission.enter(scope: scope, changes: changes)
            state.underWay[entered.turn.number] = UnderWay(deadline: deadline, cancel: cancel)
            if state.watch == nil, !state.isClosed { state.watch = watching() }
            return entered
        }
        do {
            if !isAdmitted { try await wait(for: turn) }
        } catch {
            throw end(turn) ? Self.late : error
        }
        do {
            let result = try await body()
            leave(turn)
            return result
        } catch {
            throw leave(turn) ? Self.late : error
        }
    }

    /// Nothing is watched any more: the tasks have been cancelled with their connection.
    func close() {
        let watch = state.withLock { state in
            state.isClosed = true
            defer { state.watch = nil }
            return state.watch
        }
        watch?.cancel()
    }

    private static let late = PorticoError(.deadlineExceeded, "This took too long.")

    private func wait(for turn: RequestAdmission.Turn) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let early = state.withLock { state in
                    let early = state.early.removeValue(forKey: turn.number)
                    if early == nil { state.waiters[turn.number] = waiter }
                    return early
                }
                if let early { waiter.resume(with: early) }
            }
        } onCancel: {
            guard state.withLock({ $0.admission.giveUp(turn) }) else { return }
            settle(turn.number, .failure(CancellationError()))
        }
    }

    private func settle(_ number: UInt64, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil { state.early[number] = result }
            return waiter
        }
        waiter?.resume(with: result)
    }

    /// Returns whether its deadline has passed.
    @discardableResult private func leave(_ turn: RequestAdmission.Turn) -> Bool {
        for number in state.withLock({ $0.admission.leave(turn) }) { settle(number, .success(())) }
        return end(turn)
    }

    private func end(_ turn: RequestAdmission.Turn) -> Bool {
        state.withLock { $0.underWay.removeValue(forKey: turn.number) }?.isExpired ?? false
    }

    /// Ends by itself when nothing is under way.
    private func watching() -> Task<Void, Never> {
        Task.detached { [weak self] in
            while (try? await Task.sleep(for: Self.pause)) != nil, let self, self.expire() {}
        }
    }

    /// False where nothing is under way.
    private func expire() -> Bool {
        let now = ContinuousClock.now
        let (expired, isBusy) = state.withLock { state in
            let expired = state.underWay.filter { $0.value.deadline <= now && !$0.value.isExpired }
            for number in expired.keys { state.underWay[number]?.isExpired = true }
            if state.underWay.isEmpty { state.watch = nil }
            return (expired, !state.underWay.isEmpty)
        }
        for request in expired.values { request.cancel() }
        return isBusy
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
