import AdapterKit
import Synchronization

/// For whom a token is: a caller as far as the call's credential reaches, in one sign-in. The gateway itself has neither.
struct TokenOwner: Sendable, Hashable {
    let principal: String
    let roles: Set<RoleName>
    /// ``CallContext/signIn``.
    let signIn: String?

    init(_ caller: Principal?, signIn: String? = nil) {
        principal = caller?.id ?? ""
        roles = caller?.roles ?? []
        self.signIn = signIn
    }

    static let gateway = TokenOwner(nil)
}

/// The tokens of an upstream, one for each owner: which one is used, and who fetches the next one while the others
/// wait. A state machine without a clock; ``TokenCache`` executes it.
struct TokenTable: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Sendable {
        case use(Secret)
        /// The asker fetches one, and says what became of it.
        case fetch
        /// Until the one who fetches is done; then the question is asked again.
        case wait
        case fail(UpstreamFailure)
    }

    private enum Slot {
        case token(Secret, until: Instant)
        /// `isKept`: what comes is used again.
        case fetching(waiting: [UInt64], isKept: Bool)
        /// So long the endpoint is not asked again.
        case failed(UpstreamFailure, until: Instant)
    }

    /// For how long a refusal of the endpoint counts.
    static let pause = Duration.seconds(1)

    private let limit: Int
    private var slots: [TokenOwner: Slot] = [:]

    /// `limit`: owners whose tokens are kept.
    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { slots.count }

    /// `ticket`: of the asker, for ``Step/wait``.
    mutating func next(for owner: TokenOwner, _ ticket: UInt64, now: Instant) -> Step {
        switch slots[owner] {
        case .token(let token, let until) where now < until: return .use(token)
        case .failed(let failure, let until) where now < until: return .fail(failure)
        case .fetching(let waiting, let isKept):
            slots[owner] = .fetching(waiting: waiting + [ticket], isKept: isKept)
            return .wait
        default:
            makeRoom(now)
            slots[owner] = .fetching(waiting: [], isKept: true)
            return .fetch
        }
    }

    /// The end of a fetch; nil: it was given up, and the next asker fetches. Who has to ask again.
    mutating func fetched(
        for owner: TokenOwner, _ result: Result<IssuedToken, UpstreamFailure>?, now: Instant
    ) -> [UInt64] {
        guard case .fetching(let waiting, let isKept) = slots[owner] else { return [] }
        switch result {
        case _ where !isKept: slots[owner] = nil
        case .success(let issued):
            // Not used to its last second: it is on its way for a while.
            let margin = min(issued.lifetime / 10, .seconds(30))
            slots[owner] = .token(issued.token, until: now + issued.lifetime - margin)
        case .failure(let failure): slots[owner] = .failed(failure, until: now + Self.pause)
        case nil: slots[owner] = nil
        }
        return waiting
    }

    /// The upstream does not take the token any more.
    mutating func invalidate(_ token: Secret, of owner: TokenOwner) {
        if case .token(token, _) = slots[owner] { slots[owner] = nil }
    }

    /// Something of the account has ended: a sign-in, a role, a password, the account itself. No token of it is used again,
    /// one that is on its way neither.
    mutating func forget(_ account: String) {
        for (owner, slot) in slots where owner.principal == account {
            if case .fetching(let waiting, _) = slot {
                slots[owner] = .fetching(waiting: waiting, isKept: false)
            } else {
                slots[owner] = nil
            }
        }
    }

    private mutating func makeRoom(_ now: Instant) {
        guard slots.count >= limit else { return }
        slots = slots.filter { _, slot in
            switch slot {
            case .token(_, let until), .failed(_, let until): now < until
            case .fetching: true
            }
        }
        guard slots.count >= limit else { return }
        let oldest = slots.compactMap { key, slot -> (TokenOwner, Instant)? in
            if case .token(_, let until) = slot { (key, until) } else { nil }
        }.min { $0.1 < $1.1 }
        if let oldest { slots[oldest.0] = nil }
    }
}

/// Tokens that are fetched once for all who need them and used until they expire.
final class TokenCache: Sendable {
    private struct State {
        var table: TokenTable
        var tickets: UInt64 = 0
    }

    private let name: UpstreamName
    private let state: Mutex<State>
    private let waiters = Waiters()

    init(_ name: UpstreamName, limit: Int = 10_000) {
        self.name = name
        state = Mutex(State(table: TokenTable(limit: limit)))
    }

    /// `fetch` is called for one of all who ask at once.
    func token(
        for owner: TokenOwner, until end: ContinuousClock.Instant,
        fetch: @Sendable () async throws(UpstreamFailure) -> IssuedToken
    ) async throws(UpstreamFailure) -> Secret {
        while true {
            let (ticket, step) = state.withLock { state in
                state.tickets += 1
                return (state.tickets, state.table.next(for: owner, state.tickets, now: .now))
            }
            switch step {
            case .use(let token): return token
            case .fail(let failure): throw failure
            case .fetch:
                do throws(UpstreamFailure) {
                    note(.success(try await fetch()), for: owner)
                } catch {
                    // Who gives up, or has no time or no turn left, says nothing about the endpoint.
                    note([.cancelled, .timedOut, .overloaded].contains(error.kind) ? nil : .failure(error), for: owner)
                    throw error
                }
            case .wait:
                do {
                    try await waiters.wait(for: ticket, until: end)
                } catch is Waiters.Late {
                    throw UpstreamFailure(.timedOut, of: name, detail: "no token came")
                } catch {
                    throw UpstreamFailure(.cancelled, of: name)
                }
            }
        }
    }

    func invalidate(_ token: Secret, of owner: TokenOwner) {
        state.withLock { $0.table.invalidate(token, of: owner) }
    }

    func forget(_ account: String) {
        state.withLock { $0.table.forget(account) }
    }

    private func note(_ result: Result<IssuedToken, UpstreamFailure>?, for owner: TokenOwner) {
        let waiting = state.withLock { $0.table.fetched(for: owner, result, now: .now) }
        for ticket in waiting { waiters.resume(ticket) }
    }
}
