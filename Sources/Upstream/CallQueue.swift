import AccountShares
import AdapterKit
import NIOCore
import NIOPosix
import Synchronization

/// Which calls of an upstream are under way and which wait for their turn: the accounts for which they are made take turns,
/// those of one keep their order. One turn is always left for another account. A state machine.
struct CallQueue: Sendable {
    enum Entry: Sendable, Equatable {
        case admitted
        case waits
        /// The queue is full, or the account's share of it.
        case shed
    }

    private let limit: Int
    private let places: Int
    private var turns: AccountTurns<UInt64>
    private var accounts: [UInt64: CallerIdentity] = [:]
    private(set) var active = 0

    /// `limit`: calls under way; `places`: calls that wait.
    init(limit: Int, places: Int) {
        self.limit = limit
        self.places = places
        turns = AccountTurns(perAccount: max(1, limit - 1))
    }

    /// Calls that wait.
    var waiting: Int { accounts.count }

    mutating func enter(_ ticket: UInt64, for account: CallerIdentity) -> Entry {
        let own = turns.counts(of: account)
        guard
            active < limit && own.running < turns.perAccount
                || AccountShare.hasRoom(own: own.waiting, taken: waiting, of: places)
        else { return .shed }
        turns.append(ticket, for: account)
        accounts[ticket] = account
        // No other waits that may begin: it would have begun.
        return next() == ticket ? .admitted : .waits
    }

    /// A call of the account ended. The one that begins in its place; nil: none waits that may.
    mutating func leave(_ account: CallerIdentity) -> UInt64? {
        turns.ended(for: account)
        active = max(0, active - 1)
        return next()
    }

    /// A call waits no longer. False where its turn has come meanwhile: then it has to ``leave(_:)``.
    mutating func abandon(_ ticket: UInt64) -> Bool {
        guard let account = accounts.removeValue(forKey: ticket) else { return false }
        return turns.remove(for: account) { $0 == ticket }
    }

    private mutating func next() -> UInt64? {
        guard active < limit, let ticket = turns.next() else { return nil }
        active += 1
        accounts[ticket] = nil
        return ticket
    }
}

/// The turns of one upstream's calls.
final class CallPermits: Sendable {
    private struct State {
        var queue: CallQueue
        var tickets: UInt64 = 0
    }

    private let name: UpstreamName
    private let state: Mutex<State>
    private let waiters = Waiters()

    init(_ settings: UpstreamSettings) {
        name = settings.name
        state = Mutex(State(queue: CallQueue(limit: settings.limits.connections, places: settings.limits.queue)))
    }

    /// Calls under way and calls that wait.
    var counts: (active: Int, waiting: Int) { state.withLock { ($0.queue.active, $0.queue.waiting) } }

    /// Waits for the turn at most until `end`. It is of the share of ``CallerIdentity/current``.
    func enter(until end: ContinuousClock.Instant) async throws -> CallPermit {
        let account = CallerIdentity.current
        let (ticket, entry) = state.withLock { state in
            state.tickets += 1
            return (state.tickets, state.queue.enter(state.tickets, for: account))
        }
        switch entry {
        case .admitted: break
        case .shed: throw UpstreamFailure(.overloaded, of: name, detail: "too many calls wait")
        case .waits:
            do {
                try await waiters.wait(for: ticket, until: end)
            } catch {
                if !state.withLock({ $0.queue.abandon(ticket) }) { leave(account) }
                waiters.forget(ticket)
                guard error is Waiters.Late else { throw error }
                throw UpstreamFailure(.timedOut, of: name, detail: "no turn came")
            }
        }
        return CallPermit { [self] in leave(account) }
    }

    private func leave(_ account: CallerIdentity) {
        if let next = state.withLock({ $0.queue.leave(account) }) { waiters.resume(next) }
    }
}

/// One call's turn. It ends with the last reference.
final class CallPermit: Sendable {
    private let leave: @Sendable () -> Void

    init(leave: @escaping @Sendable () -> Void) {
        self.leave = leave
    }

    deinit { leave() }
}

/// Tasks that wait, each for a ticket of its own, until they are resumed, cancelled or late.
final class Waiters: Sendable {
    /// The time was over before the ticket was resumed.
    struct Late: Error {}

    private enum Slot {
        case waiting(CheckedContinuation<Void, any Error>, Scheduled<Void>)
        /// Ended before the task began to wait.
        case ended(Result<Void, any Error>)
    }

    private let slots = Mutex<[UInt64: Slot]>([:])

    func wait(for ticket: UInt64, until end: ContinuousClock.Instant) async throws {
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { throw Late() }
        defer { forget(ticket) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early = slots.withLock { slots -> Result<Void, any Error>? in
                    if case .ended(let result) = slots.removeValue(forKey: ticket) { return result }
                    let loop = MultiThreadedEventLoopGroup.singleton.any()
                    let timer = loop.scheduleTask(in: TimeAmount(left)) { self.end(ticket, .failure(Late())) }
                    slots[ticket] = .waiting(continuation, timer)
                    return nil
                }
                if let early { continuation.resume(with: early) }
            }
        } onCancel: {
            self.end(ticket, .failure(CancellationError()))
        }
    }

    func resume(_ ticket: UInt64) {
        end(ticket, .success(()))
    }

    /// No caller will wait for the ticket any more.
    func forget(_ ticket: UInt64) {
        slots.withLock { if case .ended = $0[ticket] { $0[ticket] = nil } }
    }

    private func end(_ ticket: UInt64, _ result: Result<Void, any Error>) {
        let waiting = slots.withLock { slots -> (CheckedContinuation<Void, any Error>, Scheduled<Void>)? in
            switch slots[ticket] {
            case .waiting(let continuation, let timer):
                slots[ticket] = nil
                return (continuation, timer)
            case .ended: return nil
            case nil:
                slots[ticket] = .ended(result)
                return nil
            }
        }
        guard let (continuation, timer) = waiting else { return }
        timer.cancel()
        continuation.resume(with: result)
    }
}
