import AdapterKit
import Admission
import DequeModule

/// Counts the concurrent requests of each caller and each adapter, and queues further ones. A policy. A request is refused at once
/// where a queue is full.
struct FairShares: AdmissionPolicy {
    struct Slot: Sendable, Hashable {
        /// The account's name, or the network of a caller without an account.
        let caller: String
        /// Nil: the gateway itself answers.
        let adapter: String?
    }

    let perCaller: Int
    let perAdapter: Int
    /// Requests that may wait, of one caller and for one adapter.
    let queues: (ofCaller: Int, forAdapter: Int)
    private var callers: [String: Int] = [:]
    private var adapters: [String: Int] = [:]
    /// Requests that wait for alike slots, each in their order.
    private var waiting: [Slot: Deque<AdmissionTicket>] = [:]
    private var slots: [AdmissionTicket: Slot] = [:]
    private var waitingOfCaller: [String: Int] = [:]
    private var waitingForAdapter: [String: Int] = [:]
    private var running = 0

    init(perCaller: Int, perAdapter: Int, queuePerCaller: Int = 0, queuePerAdapter: Int = 0) {
        self.perCaller = perCaller
        self.perAdapter = perAdapter
        queues = (queuePerCaller, queuePerAdapter)
    }

    var counts: AdmissionCounts { AdmissionCounts(running: running, waiting: slots.count) }

    mutating func arrive(
        _ slot: Slot, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, PorticoError> {
        // Most requests are admitted at once, so each name is looked up once.
        if count(slot) { return .admitted(()) }
        uncount(slot)
        guard waitingOfCaller[slot.caller, default: 0] < queues.ofCaller,
            slot.adapter.map({ waitingForAdapter[$0, default: 0] < queues.forAdapter }) ?? true,
            // One place in an adapter's queue is always left for another caller.
            slot.adapter == nil || (waiting[slot]?.count ?? 0) < max(1, queues.forAdapter - 1)
        else { return .refused(Self.full) }
        waiting[slot, default: []].append(ticket)
        slots[ticket] = slot
        _ = Self.raise(&waitingOfCaller, slot.caller)
        if let adapter = slot.adapter { _ = Self.raise(&waitingForAdapter, adapter) }
        return .waits
    }

    private static let full = PorticoError(
        .overloaded, "Too many requests of this kind are under way.", retryAfter: 1)

    mutating func leave(_ slot: Slot, as ticket: AdmissionTicket, _ end: Void, at now: Instant) { uncount(slot) }

    mutating func abandon(_ ticket: AdmissionTicket) { removeWaiting(ticket) }

    /// The caller with the fewest concurrent requests is first, so that one long queue does not delay the others.
    mutating func next(at now: Instant) -> AdmissionDecision<Void, PorticoError>? {
        guard !slots.isEmpty, let next = nextSlot(), let ticket = waiting[next]?.first else { return nil }
        removeWaiting(ticket)
        _ = count(next)
        return .admit(ticket, ())
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

    private mutating func removeWaiting(_ ticket: AdmissionTicket) {
        guard let slot = slots.removeValue(forKey: ticket) else { return }
        let isLast = { (tickets: inout Deque<AdmissionTicket>?) -> Bool in
            guard let place = tickets?.firstIndex(of: ticket) else { return false }
            tickets?.remove(at: place)
            return tickets?.isEmpty == true
        }(&waiting[slot])
        if isLast { waiting[slot] = nil }
        Self.lower(&waitingOfCaller, slot.caller)
        if let adapter = slot.adapter { Self.lower(&waitingForAdapter, adapter) }
    }

    /// Whether no more is under way than may be.
    private mutating func count(_ slot: Slot) -> Bool {
        running += 1
        let ofCaller = Self.raise(&callers, slot.caller)
        let ofAdapter = slot.adapter.map { Self.raise(&adapters, $0) } ?? 0
        return ofCaller <= perCaller && ofAdapter <= perAdapter
    }

    private mutating func uncount(_ slot: Slot) {
        running -= 1
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
