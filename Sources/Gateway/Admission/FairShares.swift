import AdapterKit
import NIOCore
import Synchronization

/// Counts the concurrent requests of each caller and each adapter, and queues further ones. A state machine;
/// ``FairShareQueue`` executes it. A request is refused at once where a queue is full.
struct FairShares {
    struct Slot: Sendable, Hashable {
        /// The account's name, or the network of a caller without an account.
        let caller: String
        /// Nil: the gateway itself answers.
        let adapter: String?
    }

    enum Verdict: Equatable {
        case taken
        case waits(UInt64)
        case refused
    }

    let perCaller: Int
    let perAdapter: Int
    /// How many requests may wait, of one caller and for one adapter.
    let queues: (ofCaller: Int, forAdapter: Int)
    private var callers: [String: Int] = [:]
    private var adapters: [String: Int] = [:]
    /// Requests that wait for alike slots, each in their order.
    private var waiting: [Slot: CircularBuffer<UInt64>] = [:]
    private var slots: [UInt64: Slot] = [:]
    private var waitingOfCaller: [String: Int] = [:]
    private var waitingForAdapter: [String: Int] = [:]
    private var lastNumber: UInt64 = 0

    init(perCaller: Int, perAdapter: Int, queuePerCaller: Int = 0, queuePerAdapter: Int = 0) {
        self.perCaller = perCaller
        self.perAdapter = perAdapter
        queues = (queuePerCaller, queuePerAdapter)
    }

    mutating func take(_ slot: Slot) -> Verdict {
        // Most requests are admitted at once, so each name is looked up once.
        if count(slot) { return .taken }
        uncount(slot)
        guard waitingOfCaller[slot.caller, default: 0] < queues.ofCaller,
            slot.adapter.map({ waitingForAdapter[$0, default: 0] < queues.forAdapter }) ?? true,
            // One place in an adapter's queue is always left for another caller.
            slot.adapter == nil || (waiting[slot]?.count ?? 0) < max(1, queues.forAdapter - 1)
        else { return .refused }
        lastNumber += 1
        waiting[slot, default: CircularBuffer(initialCapacity: 4)].append(lastNumber)
        slots[lastNumber] = slot
        _ = Self.raise(&waitingOfCaller, slot.caller)
        if let adapter = slot.adapter { _ = Self.raise(&waitingForAdapter, adapter) }
        return .waits(lastNumber)
    }

    /// The waiting requests that get a slot now. The caller with the fewest concurrent requests is first, so that one
    /// long queue does not delay the others.
    mutating func leave(_ slot: Slot) -> [UInt64] {
        uncount(slot)
        var admitted: [UInt64] = []
        while let next = nextSlot(), let number = waiting[next]?.first {
            removeWaiting(number, of: next)
            _ = count(next)
            admitted.append(number)
        }
        return admitted
    }

    /// Whether it was still waiting; otherwise it has its place and has to leave it.
    mutating func giveUp(_ number: UInt64) -> Bool {
        guard let slot = slots[number] else { return false }
        removeWaiting(number, of: slot)
        return true
    }

    private func nextSlot() -> Slot? {
        waiting.filter { hasRoom($0.key) }.min { left, right in
            let (ofLeft, ofRight) = (callers[left.key.caller, default: 0], callers[right.key.caller, default: 0])
            return ofLeft != ofRight ? ofLeft < ofRight : (left.value.first ?? 0) < (right.value.first ?? 0)
        }?.key
    }

    private func hasRoom(_ slot: Slot) -> Bool {
        callers[slot.caller, default: 0] < perCaller
            && slot.adapter.map { adapters[$0, default: 0] < perAdapter } ?? true
    }

    private mutating func removeWaiting(_ number: UInt64, of slot: Slot) {
        slots[number] = nil
        let isLast = { (numbers: inout CircularBuffer<UInt64>?) -> Bool in
            guard let place = numbers?.firstIndex(of: number) else { return false }
            numbers?.remove(at: place)
            return numbers?.isEmpty == true
        }(&waiting[slot])
        if isLast { waiting[slot] = nil }
        Self.lower(&waitingOfCaller, slot.caller)
        if let adapter = slot.adapter { Self.lower(&waitingForAdapter, adapter) }
    }

    /// Whether no more is under way than may be.
    private mutating func count(_ slot: Slot) -> Bool {
        let ofCaller = Self.raise(&callers, slot.caller)
        let ofAdapter = slot.adapter.map { Self.raise(&adapters, $0) } ?? 0
        return ofCaller <= perCaller && ofAdapter <= perAdapter
    }

    private mutating func uncount(_ slot: Slot) {
        Self.lower(&callers, slot.caller)
        if let adapter = slot.adapter { Self.lower(&adapters, adapter) }
    }

    private static func raise(_ counts: inout [String: Int], _ name: String) -> Int {
        { (count: inout Int) in
            count += 1
            return count
        }(&counts[name, default: 0])
    }

    /// A name without any is removed.
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
