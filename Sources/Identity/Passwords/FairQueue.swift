import AdapterKit
import Admission
import DequeModule

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
/// A policy; ``FairScheduler`` executes it. Next is the request whose address and name were both
/// served longest ago, then the one that came first: who floods waits for himself, and a newcomer for one request of each
/// other share, and a third more. Every fourth turn is the one's who has waited longest, whatever his shares, so no
/// request starves. Where the expected wait is too long the request is refused at once, and where it was too long when that
/// time is over; where the queue is full, the latest request of the largest share is.
package struct FairQueue: AdmissionPolicy {
    package struct Limits: Sendable {
        /// Passwords that are checked at once.
        package var slots: Int
        package var waiting: Int
        package var longestWait: Duration

        package init(slots: Int, waiting: Int, longestWait: Duration) {
            self.slots = slots
            self.waiting = waiting
            self.longestWait = longestWait
        }
    }

    private enum Key: Hashable {
        case address(ClientAddress)
        case name(String)
    }

    private struct Waiting {
        let ticket: AdmissionTicket
        let share: PasswordShare
        /// Requests that had been served when it came.
        let served: Int
    }

    /// Services that are remembered.
    static let memory = 128
    /// Seconds that one takes, before the first was measured.
    private static let assumed = 0.1

    package private(set) var limits: Limits
    private var waiting: Deque<Waiting> = []
    /// Refused requests, and the seconds after which they may try again.
    private var refused: Deque<(ticket: AdmissionTicket, seconds: Double)> = []
    private var running: [AdmissionTicket: Instant] = [:]
    private var served = 0
    private var lastServed: [Key: Int] = [:]
    /// Seconds that one takes, lately.
    private var mean = FairQueue.assumed

    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// For those who come from now on.
    mutating func use(longestWait: Duration) { limits.longestWait = longestWait }

    package var counts: AdmissionCounts {
        AdmissionCounts(running: running.count, waiting: waiting.count + refused.count)
    }

    package mutating func arrive(
        _ share: PasswordShare, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, PorticoError> {
        let request = Waiting(ticket: ticket, share: share, served: served)
        if running.count < limits.slots, waiting.isEmpty {
            waiting.append(request)
            return .undecided
        }
        let wait = expectedWait(of: request)
        guard wait <= limits.longestWait.inSeconds else { return .refused(Self.refusal(wait)) }
        if waiting.count >= limits.waiting {
            guard let displaced = latestOfLargestShare(beside: share) else { return .refused(Self.refusal(wait)) }
            refused.append((waiting.remove(at: displaced).ticket, wait))
        }
        waiting.append(request)
        return .undecided
    }

    package mutating func abandon(_ ticket: AdmissionTicket) {
        waiting.removeAll { $0.ticket == ticket }
        refused.removeAll { $0.ticket == ticket }
    }

    package mutating func leave(_ share: PasswordShare, as ticket: AdmissionTicket, _ end: Void, at now: Instant) {
        if let began = running.removeValue(forKey: ticket) {
            mean = max(0.001, 0.8 * mean + 0.2 * (now - began).inSeconds)
        }
    }

    package mutating func next(at now: Instant) -> AdmissionDecision<Void, PorticoError>? {
        if let (ticket, seconds) = refused.popFirst() { return .refuse(ticket, Self.refusal(seconds)) }
        guard running.count < limits.slots, !waiting.isEmpty else { return nil }
        var order = order(of: waiting)
        let request = waiting.remove(at: order.takeNext())
        running[request.ticket] = now
        served += 1
        lastServed[.address(request.share.address)] = served
        lastServed[.name(request.share.name)] = served
        if lastServed.count > 4 * Self.memory { lastServed = lastServed.filter { $0.value > served - Self.memory } }
        return .admit(request.ticket, ())
    }

    /// Try again after so many seconds, between one and sixty.
    fileprivate static func refusal(_ seconds: Double) -> PorticoError {
        PorticoError(
            .overloaded, "Too many sign-ins at once.", retryAfter: Int(min(max(seconds, 1), 60).rounded(.up)))
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
    private func expectedWait(of request: Waiting) -> Double {
        var order = order(of: waiting + CollectionOfOne(request))
        let each = mean / Double(max(1, limits.slots))
        var ahead = 1
        while order.takeNext() != waiting.count, Double(ahead) * each <= limits.longestWait.inSeconds { ahead += 1 }
        return Double(ahead) * each
    }

    private func order(of requests: some Sequence<Waiting>) -> Order {
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
package struct FairScheduler: Sendable {
    /// Seconds after which a request may be tried again that has waited for too long.
    private static let pause = 5.0

    private let queue: AdmissionQueue<FairQueue>

    package init(_ limits: FairQueue.Limits) {
        queue = AdmissionQueue(FairQueue(limits), late: FairQueue.refusal(Self.pause))
    }

    package var waitingCount: Int { queue.counts.waiting }

    func use(longestWait: Duration) { queue.update { $0.use(longestWait: longestWait) } }

    /// Throws `server.overloaded` with the seconds to wait where the turn would come too late. A caller that is cancelled
    /// while it waits leaves the queue.
    package func run<Result>(for share: PasswordShare, _ body: () async throws -> Result) async throws -> Result {
        try await queue.run(share, until: .now + queue.update { $0.limits.longestWait }, body)
    }
}
