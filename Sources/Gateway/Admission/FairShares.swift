import AdapterKit
import Synchronization

/// Counts the concurrent requests of each caller and each adapter, and queues further ones. A state machine;
/// ``FairShareQueue`` executes it. A request is refused at once where a queue is full.
struct FairShares {
    struct Slot: Sendable {
        let caller: String
        let adapter: String
    }

    enum Verdict: Equatable {
        case taken
        case waits(UInt64)
        case refused
    }

    private struct Waiter {
        let number: UInt64
        let slot: Slot
    }

    let perCaller: Int
    let perAdapter: Int
    /// Who may wait, of one caller and for one adapter.
    let queues: (ofCaller: Int, forAdapter: Int)
    private var callers: [String: Int] = [:]
    private var adapters: [String: Int] = [:]
    private var waiting: [Waiter] = []
    private var lastNumber: UInt64 = 0

    init(perCaller: Int, perAdapter: Int, queuePerCaller: Int = 0, queuePerAdapter: Int = 0) {
        self.perCaller = perCaller
        self.perAdapter = perAdapter
        queues = (queuePerCaller, queuePerAdapter)
    }

    mutating func take(_ slot: Slot) -> Verdict {
        // Most requests are admitted at once, so each name is looked up once.
        let (ofItsCaller, ofItsAdapter) = count(slot)
        if ofItsCaller <= perCaller, ofItsAdapter <= perAdapter { return .taken }
        uncount(slot)
        let ofCaller = waiting.count { $0.slot.caller == slot.caller }
        let forAdapter = waiting.count { $0.slot.adapter == slot.adapter }
        guard ofCaller < queues.ofCaller, forAdapter < queues.forAdapter else { return .refused }
        lastNumber += 1
        waiting.append(Waiter(number: lastNumber, slot: slot))
        return .waits(lastNumber)
    }

    /// The waiting requests that get a slot now. The caller with the fewest concurrent requests is first, so that one
    /// long queue does not delay the others.
    mutating func leave(_ slot: Slot) -> [UInt64] {
        uncount(slot)
        guard !waiting.isEmpty else { return [] }
        var admitted: [UInt64] = []
        while let next = nextWaiter() {
            let waiter = waiting.remove(at: next)
            count(waiter.slot)
            admitted.append(waiter.number)
        }
        return admitted
    }

    /// Whether it was still waiting; otherwise it has its place and has to leave it.
    mutating func giveUp(_ number: UInt64) -> Bool {
        guard let slot = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: slot)
        return true
    }

    private func nextWaiter() -> Int? {
        waiting.indices.filter { hasRoom(waiting[$0].slot) }.min { left, right in
            callers[waiting[left].slot.caller, default: 0] < callers[waiting[right].slot.caller, default: 0]
        }
    }

    private func hasRoom(_ slot: Slot) -> Bool {
        callers[slot.caller, default: 0] < perCaller && adapters[slot.adapter, default: 0] < perAdapter
    }

    /// How much is under way with it.
    @discardableResult
    private mutating func count(_ slot: Slot) -> (ofCaller: Int, ofAdapter: Int) {
        (Self.raise(&callers, slot.caller), Self.raise(&adapters, slot.adapter))
    }

    private mutating func uncount(_ slot: Slot) {
        Self.lower(&callers, slot.caller)
        Self.lower(&adapters, slot.adapter)
    }

    private static func raise(_ counts: inout [String: Int], _ name: String) -> Int {
        { (count: inout Int) in
            count += 1
            return count
        }(&counts[name, default: 0])
    }

    /// A caller or adapter without concurrent requests is removed.
    private static func lower(_ counts: inout [String: Int], _ name: String) {
        guard let slot = counts.index(forKey: name) else { return }
        if counts.values[slot] > 1 { counts.values[slot] -= 1 } else { counts.remove(at: slot) }
    }
}

/// Executes ``FairShares`` under a lock; each waiting request is a continuation.
final class FairShareQueue: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var shares: FairShares
        var waiters: [UInt64: Waiter] = [:]
        /// Admitted or given up before they had begun to wait.
        var early: [UInt64: Result<Void, any Error>] = [:]
    }

    private let state: Mutex<State>

    init(_ shares: FairShares) {
        state = Mutex(State(shares: shares))
    }

    /// Throws `server.overloaded` where the queue is full, and `CancellationError` where the request's time is over.
    func take(_ slot: FairShares.Slot) async throws {
        switch state.withLock({ $0.shares.take(slot) }) {
        case .taken: return
        case .refused:
            throw PorticoError(.overloaded, "Too many requests of this kind are under way.", retryAfter: 1)
        case .waits(let number):
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { wait(number, $0) }
            } onCancel: {
                giveUp(number)
            }
        }
    }

    func leave(_ slot: FairShares.Slot) {
        for number in state.withLock({ $0.shares.leave(slot) }) { settle(number, .success(())) }
    }

    private func wait(_ number: UInt64, _ waiter: Waiter) {
        let early = state.withLock { state in
            let early = state.early.removeValue(forKey: number)
            if early == nil { state.waiters[number] = waiter }
            return early
        }
        if let early { waiter.resume(with: early) }
    }

    private func giveUp(_ number: UInt64) {
        guard state.withLock({ $0.shares.giveUp(number) }) else { return }
        settle(number, .failure(CancellationError()))
    }

    private func settle(_ number: UInt64, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil { state.early[number] = result }
            return waiter
        }
        waiter?.resume(with: result)
    }
}
