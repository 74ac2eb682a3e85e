import AdapterKit
import GRDB
import Synchronization

/// A connection for as long as one read has it.
struct ReadPermit: Sendable {
    let connection: DatabaseQueue
    fileprivate let number: UInt64
    fileprivate let since: ContinuousClock.Instant
}

/// Carries ``ReadShares`` out: connections, opened when they are first needed, and continuations that wait for them.
final class ReadPermits: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var shares: ReadShares
        var free: [DatabaseQueue] = []
        var waiters: [UInt64: Waiter] = [:]
        /// Settled before they had begun to wait.
        var early: [UInt64: Result<Void, any Error>] = [:]
        var isClosed = false
    }

    static let turnIsOver = PorticoError(
        .overloaded, "The search took its time while others waited.", retryAfter: 1)
    private static let full = PorticoError(.overloaded, "Too many long searches are waiting.", retryAfter: 1)

    /// How long a read may go on while a caller waits who has none.
    private let turn: Duration
    private let open: @Sendable () throws -> DatabaseQueue
    private let state: Mutex<State>

    init(_ limits: ReadShares.Limits, turn: Duration, open: @escaping @Sendable () throws -> DatabaseQueue) {
        self.turn = turn
        self.open = open
        state = Mutex(State(shares: ReadShares(limits)))
    }

    /// Throws `server.overloaded` where too many wait, and `CancellationError` where the task is cancelled.
    func take(for caller: CallerIdentity) async throws -> ReadPermit {
        let number = try await enter(caller)
        do {
            try Task.checkCancellation()
            let free = try state.withLock { state in
                if state.isClosed { throw PorticoError.closed }
                return state.free.popLast()
            }
            return ReadPermit(connection: try free ?? open(), number: number, since: .now)
        } catch {
            leave(number)
            throw error is CancellationError ? error : PorticoError.wrapping(error)
        }
    }

    /// The connection first: who gets the place finds it.
    func leave(_ place: ReadPermit) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.free.append(place.connection) }
            return state.isClosed
        }
        if isClosed { try? place.connection.close() }
        leave(place.number)
    }

    /// Whether the read is to end so that another caller gets its place. Cheap where no caller waits.
    func isTurnOver(of place: ReadPermit) -> Bool {
        guard ContinuousClock.now - place.since >= turn else { return false }
        return state.withLock { !$0.shares.isQueueEmpty && $0.shares.endsTurn(of: place.number) }
    }

    /// Reads that have a place and that wait for one.
    var counts: (running: Int, waiting: Int) { state.withLock { $0.shares.counts } }

    func close() {
        let (free, waiters) = state.withLock { state in
            state.isClosed = true
            defer { (state.free, state.waiters) = ([], [:]) }
            return (state.free, state.waiters)
        }
        for connection in free { try? connection.close() }
        for waiter in waiters.values { waiter.resume(throwing: PorticoError.closed) }
    }

    private func enter(_ caller: CallerIdentity) async throws -> UInt64 {
        let admission = try state.withLock { state in
            if state.isClosed { throw PorticoError.closed }
            return state.shares.enter(caller)
        }
        switch admission {
        case .refused: throw Self.full
        case .admitted(let number): return number
        case .waits(let number, let evicted):
            if let evicted { settle(evicted, .failure(Self.full)) }
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { wait(number, $0) }
            } onCancel: {
                giveUp(number)
            }
            return number
        }
    }

    private func wait(_ number: UInt64, _ waiter: Waiter) {
        let early = state.withLock { state -> Result<Void, any Error>? in
            if let early = state.early.removeValue(forKey: number) { return early }
            if state.isClosed { return .failure(PorticoError.closed) }
            state.waiters[number] = waiter
            return nil
        }
        if let early { waiter.resume(with: early) }
    }

    private func giveUp(_ number: UInt64) {
        guard state.withLock({ $0.shares.giveUp(number) }) else { return }
        settle(number, .failure(CancellationError()))
    }

    private func leave(_ number: UInt64) {
        for admitted in state.withLock({ $0.shares.leave(number) }) { settle(admitted, .success(())) }
    }

    private func settle(_ number: UInt64, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state -> Waiter? in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil, !state.isClosed { state.early[number] = result }
            return waiter
        }
        waiter?.resume(with: result)
    }
}

/// Which reads have one of a few places and which wait, in fair shares among callers: a state machine.
///
/// A caller has all places but one at most, so that there is one for others. Of those that wait, the caller with the
/// fewest places is next, then the one that got its last place longest ago, then the one that came first. Where the queue
/// is full, the caller with the most reads in it gives one up. A read whose turn is over ends where a caller without a
/// place waits.
struct ReadShares {
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

    enum Admission: Equatable {
        case admitted(UInt64)
        /// `evicting`: another read gives its place in the queue up.
        case waits(UInt64, evicting: UInt64?)
        case refused
    }

    private let limits: Limits
    private var running: [UInt64: CallerIdentity] = [:]
    private var waiting: [(number: UInt64, caller: CallerIdentity)] = []
    /// Those whose turn was ended, and which have not left yet.
    private var ending: Set<UInt64> = []
    private var lastNumber: UInt64 = 0
    /// When those that have or want a place got their last one, in admissions.
    private var served: [CallerIdentity: UInt64] = [:]
    private var admissions: UInt64 = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    mutating func enter(_ caller: CallerIdentity) -> Admission {
        if running.count < limits.places, places(of: caller) < limits.placesPerCaller {
            let number = nextNumber()
            admit(number, caller)
            return .admitted(number)
        }
        let own = waiting.count { $0.caller == caller }
        guard own < limits.waitingPerCaller else { return .refused }
        var evicted: UInt64?
        if waiting.count >= limits.waiting {
            guard let longest = longestQueue(), longest.count > own + 1,
                let last = waiting.lastIndex(where: { $0.caller == longest.caller })
            else { return .refused }
            evicted = waiting.remove(at: last).number
        }
        let number = nextNumber()
        waiting.append((number, caller))
        return .waits(number, evicting: evicted)
    }

    /// Returns those that have a place now.
    mutating func leave(_ number: UInt64) -> [UInt64] {
        guard running[number] != nil else { return [] }
        running[number] = nil
        ending.remove(number)
        var admitted: [UInt64] = []
        while running.count < limits.places, let next = nextWaiting() {
            let read = waiting.remove(at: next)
            admit(read.number, read.caller)
            admitted.append(read.number)
        }
        let known = Set(running.values).union(waiting.map(\.caller))
        served = served.filter { known.contains($0.key) }
        return admitted
    }

    /// Whether it was still waiting; otherwise it has a place and has to leave it.
    mutating func giveUp(_ number: UInt64) -> Bool {
        guard let position = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: position)
        return true
    }

    /// Of a read that has had its time: whether it is to end because a caller without a place waits. As many reads end as
    /// there are such callers.
    mutating func endsTurn(of number: UInt64) -> Bool {
        guard let caller = running[number] else { return false }
        if ending.contains(number) { return true }
        let others = Set(waiting.lazy.map(\.caller)).filter { $0 != caller && places(of: $0) == 0 }
        let staying = running.count { $0.value == caller && !ending.contains($0.key) }
        guard ending.count < others.count, staying > limits.kept else { return false }
        ending.insert(number)
        return true
    }

    /// No caller waits: the usual case, to be asked first.
    var isQueueEmpty: Bool { waiting.isEmpty }

    var counts: (running: Int, waiting: Int) { (running.count, waiting.count) }

    private mutating func admit(_ number: UInt64, _ caller: CallerIdentity) {
        running[number] = caller
        admissions += 1
        served[caller] = admissions
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
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
