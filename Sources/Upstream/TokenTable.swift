import AdapterKit
import Synchronization

/// The tokens of an upstream, one for each principal: which one is used, and who fetches the next one while the others
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
        case fetching(waiting: [UInt64])
        /// So long the endpoint is not asked again.
        case failed(UpstreamFailure, until: Instant)
    }

    /// For how long a refusal of the endpoint counts.
    static let pause = Duration.seconds(1)

    private let limit: Int
    private var slots: [String: Slot] = [:]

    /// `limit`: principals whose tokens are kept.
    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { slots.count }

    /// `ticket`: of the asker, for ``Step/wait``.
    mutating func next(for principal: String, _ ticket: UInt64, now: Instant) -> Step {
        switch slots[principal] {
        case .token(let token, let until) where now < until: return .use(token)
        case .failed(let failure, let until) where now < until: return .fail(failure)
        case .fetching(let waiting):
            slots[principal] = .fetching(waiting: waiting + [ticket])
            return .wait
        default:
            makeRoom(now)
            slots[principal] = .fetching(waiting: [])
            return .fetch
        }
    }

    /// The end of a fetch; nil: it was given up, and the next asker fetches. Who has to ask again.
    mutating func fetched(
        for principal: String, _ result: Result<IssuedToken, UpstreamFailure>?, now: Instant
    ) -> [UInt64] {
        guard case .fetching(let waiting) = slots[principal] else { return [] }
        switch result {
        case .success(let issued):
            // Not used to its last second: it is on its way for a while.
            let margin = min(issued.lifetime / 10, .seconds(30))
            slots[principal] = .token(issued.token, until: now + issued.lifetime - margin)
        case .failure(let failure): slots[principal] = .failed(failure, until: now + Self.pause)
        case nil: slots[principal] = nil
        }
        return waiting
    }

    /// The upstream does not take the token any more.
    mutating func invalidate(_ token: Secret, of principal: String) {
        if case .token(token, _) = slots[principal] { slots[principal] = nil }
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
        let oldest = slots.compactMap { key, slot -> (String, Instant)? in
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
        for principal: String, until end: ContinuousClock.Instant,
        fetch: @Sendable () async throws(UpstreamFailure) -> IssuedToken
    ) async throws(UpstreamFailure) -> Secret {
        while true {
            let (ticket, step) = state.withLock { state in
                state.tickets += 1
                return (state.tickets, state.table.next(for: principal, state.tickets, now: .now))
            }
            switch step {
            case .use(let token): return token
            case .fail(let failure): throw failure
            case .fetch:
                do throws(UpstreamFailure) {
                    note(.success(try await fetch()), for: principal)
                } catch {
                    // Who gives up, or has no time left, says nothing about the endpoint.
                    note([.cancelled, .timedOut].contains(error.kind) ? nil : .failure(error), for: principal)
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

    func invalidate(_ token: Secret, of principal: String) {
        state.withLock { $0.table.invalidate(token, of: principal) }
    }

    private func note(_ result: Result<IssuedToken, UpstreamFailure>?, for principal: String) {
        let waiting = state.withLock { $0.table.fetched(for: principal, result, now: .now) }
        for ticket in waiting { waiters.resume(ticket) }
    }
}
