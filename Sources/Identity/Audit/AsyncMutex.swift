import AdapterKit

/// Lets one task at a time through: callers take turns, and the tasks of one keep their order. An actor alone would not do:
/// it lets the next one in at every `await`.
package actor AsyncMutex {
    private var isTaken = false
    private var waiting: CallerTurns<CheckedContinuation<Void, Never>>

    package init(limit: Int) {
        waiting = CallerTurns(limit: limit)
    }

    /// Throws `server.overloaded` where too many wait already, of all callers or of this one. A turn is short, so a
    /// cancelled task keeps its place and gives up when it is through.
    package func pass<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        try Task.checkCancellation()
        return try await body()
    }

    private func enter() async throws {
        guard isTaken else {
            isTaken = true
            return
        }
        let caller = CallerIdentity.current
        guard waiting.hasRoom(for: caller) else {
            throw PorticoError(.overloaded, "Too many changes at once.", retryAfter: 5)
        }
        await withCheckedContinuation { waiting.append($0, for: caller) }
    }

    /// The turn goes to the next one directly, so that no newcomer gets in between.
    private func leave() {
        if let next = waiting.popFirst() { next.resume() } else { isTaken = false }
    }
}

/// Tasks that wait for one turn after the other, with turns by caller. One caller's take half of the places at most.
struct CallerTurns<Waiter> {
    private let limit: Int
    private var waiters: [CallerIdentity: [Waiter]] = [:]
    /// The callers that have any, in the order of their turns.
    private var turns: [CallerIdentity] = []
    private(set) var count = 0

    /// `limit`: waiting tasks of all callers together.
    init(limit: Int) {
        self.limit = limit
    }

    func hasRoom(for caller: CallerIdentity) -> Bool {
        count < limit && (waiters[caller]?.count ?? 0) < max(1, limit / 2)
    }

    mutating func append(_ waiter: Waiter, for caller: CallerIdentity) {
        if waiters[caller] == nil { turns.append(caller) }
        waiters[caller, default: []].append(waiter)
        count += 1
    }

    mutating func popFirst() -> Waiter? {
        guard !turns.isEmpty else { return nil }
        let caller = turns.removeFirst()
        guard let waiter = waiters[caller]?.removeFirst() else { return nil }
        count -= 1
        if waiters[caller]?.isEmpty == true { waiters[caller] = nil } else { turns.append(caller) }
        return waiter
    }
}
