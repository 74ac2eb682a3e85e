import AdapterKit
import Synchronization

/// Whose password is to be checked: by where the request came from and by the name that was typed.
package struct PasswordShare: Sendable, Hashable {
    let address: ClientAddress
    let name: String
    let priority: PasswordPriority

    package init(address: ClientAddress, name: String, priority: PasswordPriority = .normal) {
        self.address = address
        self.name = LoginBackoff.bounded(name)
        self.priority = priority
    }
}

/// Which password work runs next, in fair shares by address and by name.
///
/// A state machine without effects; ``FairScheduler`` executes it. Next is the request whose address and name were both
/// served longest ago, then the one that came first: who floods waits for himself, and a newcomer for one request of each
/// other share, and a third more. Every fourth turn is the one's who has waited longest, whatever his shares, so no
/// request starves. Where the expected wait is too long the request is refused at once; where the queue is full, the
/// latest request of the largest share is.
package struct FairQueue: Sendable {
    package struct Limits: Sendable {
        /// How many run at once.
        package var slots: Int
        package var waiting: Int
        package var longestWait: Duration

        package init(slots: Int, waiting: Int, longestWait: Duration) {
            self.slots = slots
            self.waiting = waiting
            self.longestWait = longestWait
        }
    }

    package enum Action: Sendable, Equatable {
        case run(UInt64)
        /// Try again after so many seconds.
        case refuse(UInt64, retryAfter: Int)
    }

    private enum Key: Hashable {
        case address(ClientAddress)
        case name(String)
    }

    private struct Request {
        let id: UInt64
        let share: PasswordShare
        let since: Duration
        /// How many had been served when it came.
        let served: Int
    }

    /// How many services are remembered.
    static let memory = 128
    /// Seconds that one takes, before the first was measured.
    private static let assumed = 0.1

    package let limits: Limits
    private var waiting: [Request] = []
    private var running: [UInt64: Duration] = [:]
    private var served = 0
    private var lastServed: [Key: Int] = [:]
    /// Seconds that one takes, lately.
    private var mean = FairQueue.assumed

    package init(_ limits: Limits) {
        self.limits = limits
    }

    package var waitingCount: Int { waiting.count }
    package var runningCount: Int { running.count }
    /// How many shares are remembered.
    package var rememberedCount: Int { lastServed.count }

    /// `now` is any time that only goes forward.
    package mutating func arrive(_ id: UInt64, _ share: PasswordShare, now: Duration) -> [Action] {
        let late = removeLate(now)
        let request = Request(id: id, share: share, since: now, served: served)
        if running.count < limits.slots, waiting.isEmpty { return late + [start(request, now: now)] }
        let wait = expectedWait(of: request)
        guard wait <= limits.longestWait.inSeconds else { return late + [refusal(of: id, after: wait)] }
        guard waiting.count >= limits.waiting else {
            waiting.append(request)
            return late
        }
        guard let displaced = latestOfLargestShare(beside: share) else { return late + [refusal(of: id, after: wait)] }
        let gone = waiting.remove(at: displaced)
        waiting.append(request)
        return late + [refusal(of: gone.id, after: wait)]
    }

    /// A request that is not wanted any more; false where it does not wait.
    package mutating func leave(_ id: UInt64) -> Bool {
        guard let place = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: place)
        return true
    }

    /// One that ran has ended.
    package mutating func finish(_ id: UInt64, now: Duration) -> [Action] {
        if let began = running.removeValue(forKey: id) {
            mean = max(0.001, 0.8 * mean + 0.2 * (now - began).inSeconds)
        }
        var actions = removeLate(now)
        while running.count < limits.slots, !waiting.isEmpty {
            var order = order(of: waiting)
            actions.append(start(waiting.remove(at: order.takeNext()), now: now))
        }
        return actions
    }

    private mutating func start(_ request: Request, now: Duration) -> Action {
        running[request.id] = now
        served += 1
        lastServed[.address(request.share.address)] = served
        lastServed[.name(request.share.name)] = served
        if lastServed.count > 4 * Self.memory { lastServed = lastServed.filter { $0.value > served - Self.memory } }
        return .run(request.id)
    }

    private mutating func removeLate(_ now: Duration) -> [Action] {
        guard waiting.contains(where: { now - $0.since >= limits.longestWait }) else { return [] }
        let late = waiting.filter { now - $0.since >= limits.longestWait }
        waiting.removeAll { now - $0.since >= limits.longestWait }
        return late.map { refusal(of: $0.id, after: Double(waiting.count) * mean / Double(max(1, limits.slots))) }
    }

    private func refusal(of id: UInt64, after seconds: Double) -> Action {
        .refuse(id, retryAfter: Int(min(max(seconds, 1), 60).rounded(.up)))
    }

    /// Nil where the newcomer's own share is among the largest.
    private func latestOfLargestShare(beside share: PasswordShare) -> Int? {
        var counts: [Key: Int] = [:]
        for request in waiting {
            counts[.address(request.share.address), default: 0] += 1
            counts[.name(request.share.name), default: 0] += 1
        }
        func load(_ share: PasswordShare) -> Int {
            max(counts[.address(share.address)] ?? 0, counts[.name(share.name)] ?? 0)
        }
        guard let largest = waiting.map({ load($0.share) }).max(), largest > load(share) + 1 else { return nil }
        return waiting.lastIndex { load($0.share) == largest }
    }
}

extension FairQueue {
    /// Seconds until it would run, by serving those who wait in their order.
    private func expectedWait(of request: Request) -> Double {
        var order = order(of: waiting + [request])
        let each = mean / Double(max(1, limits.slots))
        var ahead = 1
        while order.takeNext() != waiting.count, Double(ahead) * each <= limits.longestWait.inSeconds { ahead += 1 }
        return Double(ahead) * each
    }

    private func order(of requests: [Request]) -> Order {
        var indexes: [Key: Int] = [:]
        var order = Order(served: served)
        func index(_ key: Key) -> Int {
            if let known = indexes[key] { return known }
            indexes[key] = order.lastServed.count
            order.lastServed.append(lastServed[key] ?? 0)
            return order.lastServed.count - 1
        }
        for request in requests {
            order.requests.append(
                Order.Request(
                    address: index(.address(request.share.address)), name: index(.name(request.share.name)),
                    floor: request.served - Self.memory))
        }
        return order
    }

    /// The order in which requests are served, with numbers in place of addresses and names, so that it may be tried out.
    private struct Order {
        struct Request {
            let address: Int
            let name: Int
            /// A share that has not been served since counts as served then.
            let floor: Int
            var isTaken = false
        }

        var requests: [Request] = []
        var lastServed: [Int] = []
        var served: Int

        init(served: Int) { self.served = served }

        /// The place of the next one. There must be one.
        mutating func takeNext() -> Int {
            let best = served % 4 == 3 ? requests.firstIndex { !$0.isTaken } ?? 0 : leastServed()
            requests[best].isTaken = true
            served += 1
            lastServed[requests[best].address] = served
            lastServed[requests[best].name] = served
            return best
        }

        private func leastServed() -> Int {
            var best = 0
            var bestRank = (Int.max, Int.max)
            for (place, request) in requests.enumerated() where !request.isTaken {
                let address = max(lastServed[request.address], request.floor)
                let name = max(lastServed[request.name], request.floor)
                let rank = (max(address, name), min(address, name))
                if rank < bestRank { (best, bestRank) = (place, rank) }
            }
            return best
        }
    }
}

/// Lets password work run in the order of ``FairQueue``.
package final class FairScheduler: Sendable {
    private struct State {
        var queue: FairQueue
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now

    package init(_ limits: FairQueue.Limits) {
        state = Mutex(State(queue: FairQueue(limits)))
    }

    package var waitingCount: Int { state.withLock { $0.queue.waitingCount } }

    /// Throws `server.overloaded` with the seconds to wait where the turn would come too late. A caller that is cancelled
    /// while it waits leaves the queue.
    package func run<Result>(for share: PasswordShare, _ body: () async throws -> Result) async throws -> Result {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                perform { state, now in
                    state.waiters[id] = waiter
                    return state.queue.arrive(id, share, now: now)
                }
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
        defer { perform { state, now in state.queue.finish(id, now: now) } }
        try Task.checkCancellation()
        return try await body()
    }

    private func cancel(_ id: UInt64) {
        state.withLock { $0.queue.leave(id) ? $0.waiters.removeValue(forKey: id) : nil }?
            .resume(throwing: CancellationError())
    }

    /// Those who waited are woken after the lock is gone.
    private func perform(_ step: (inout State, Duration) -> [FairQueue.Action]) {
        let now = start.duration(to: .now)
        let woken = state.withLock { state in
            step(&state, now).compactMap { action -> (CheckedContinuation<Void, any Error>, PorticoError?)? in
                switch action {
                case .run(let id): return state.waiters.removeValue(forKey: id).map { ($0, nil) }
                case .refuse(let id, let seconds):
                    let error = PorticoError(.overloaded, "Too many sign-ins at once.", retryAfter: seconds)
                    return state.waiters.removeValue(forKey: id).map { ($0, error) }
                }
            }
        }
        for (waiter, error) in woken {
            if let error { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }
}
