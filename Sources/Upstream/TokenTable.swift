import AdapterKit
import Admission
import DequeModule

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
/// wait. A policy; ``TokenCache`` executes it.
struct TokenTable: AdmissionPolicy {
    enum Grant: Sendable {
        case use(Secret)
        /// The asker fetches one, and says what became of it.
        case fetch
    }

    private enum Slot {
        case token(Secret, until: Instant)
        /// `isKept`: what comes is used again.
        case fetching(isKept: Bool)
        /// So long the endpoint is not asked again.
        case failed(UpstreamFailure, until: Instant)
    }

    /// For how long a refusal of the endpoint counts.
    static let pause = Duration.seconds(1)

    private let limit: Int
    private var slots: [TokenOwner: Slot] = [:]
    /// Until the one who fetches is done; then each asks again.
    private var waiting: [TokenOwner: Deque<AdmissionTicket>] = [:]
    /// The callers that ask again now.
    private var asking: Deque<(ticket: AdmissionTicket, owner: TokenOwner)> = []

    /// `limit`: owners whose tokens are kept.
    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { slots.count }

    var counts: AdmissionCounts {
        let fetching = slots.values.count { if case .fetching = $0 { true } else { false } }
        return AdmissionCounts(running: fetching, waiting: waiting.values.reduce(asking.count) { $0 + $1.count })
    }

    mutating func arrive(
        _ owner: TokenOwner, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Grant, UpstreamFailure> {
        switch slots[owner] {
        case .token(let token, let until) where now < until: return .admitted(.use(token))
        case .failed(let failure, let until) where now < until: return .refused(failure)
        case .fetching:
            waiting[owner, default: []].append(ticket)
            return .waits
        default:
            makeRoom(now)
            slots[owner] = .fetching(isKept: true)
            return .admitted(.fetch)
        }
    }

    mutating func next(at now: Instant) -> AdmissionDecision<Grant, UpstreamFailure>? {
        while let (ticket, owner) = asking.popFirst() {
            switch arrive(owner, as: ticket, at: now) {
            case .admitted(let grant): return .admit(ticket, grant)
            case .refused(let failure): return .refuse(ticket, failure)
            case .waits, .undecided: continue
            }
        }
        return nil
    }

    mutating func abandon(_ ticket: AdmissionTicket) {
        for (owner, tickets) in waiting {
            let left = tickets.filter { $0 != ticket }
            waiting[owner] = left.isEmpty ? nil : left
        }
        asking.removeAll { $0.ticket == ticket }
    }

    /// A fetch has ended; nil: it was given up, and the next asker fetches.
    mutating func leave(
        _ owner: TokenOwner, as ticket: AdmissionTicket, _ end: Result<IssuedToken, UpstreamFailure>?, at now: Instant
    ) {
        guard case .fetching(let isKept) = slots[owner] else { return }
        switch end {
        case _ where !isKept: slots[owner] = nil
        case .success(let issued):
            // Not used to its last second: it is on its way for a while.
            let margin = min(issued.lifetime / 10, .seconds(30))
            slots[owner] = .token(issued.token, until: now + issued.lifetime - margin)
        case .failure(let failure): slots[owner] = .failed(failure, until: now + Self.pause)
        case nil: slots[owner] = nil
        }
        for ticket in waiting.removeValue(forKey: owner) ?? [] { asking.append((ticket, owner)) }
    }

    /// The upstream does not take the token any more.
    mutating func invalidate(_ token: Secret, of owner: TokenOwner) {
        if case .token(token, _) = slots[owner] { slots[owner] = nil }
    }

    /// Something of the account has ended: a sign-in, a role, a password, the account itself. No token of it is used again,
    /// one that is on its way neither.
    mutating func forget(_ account: String) {
        for (owner, slot) in slots where owner.principal == account {
            if case .fetching = slot {
                slots[owner] = .fetching(isKept: false)
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
    private let name: UpstreamName
    private let queue: AdmissionQueue<TokenTable>

    init(_ name: UpstreamName, limit: Int = 10_000) {
        self.name = name
        queue = AdmissionQueue(
            TokenTable(limit: limit), late: UpstreamFailure(.timedOut, of: name, detail: "no token came"))
    }

    /// `fetch` is called for one of all who ask at once.
    func token(
        for owner: TokenOwner, until end: ContinuousClock.Instant,
        fetch: @Sendable () async throws(UpstreamFailure) -> IssuedToken
    ) async throws(UpstreamFailure) -> Secret {
        while true {
            let permit: AdmissionPermit<TokenTable>
            do {
                permit = try await queue.acquire(owner, until: end)
            } catch {
                throw error as? UpstreamFailure ?? UpstreamFailure(.cancelled, of: name)
            }
            guard case .fetch = permit.grant else {
                if case .use(let token) = permit.grant { return token }
                continue
            }
            do throws(UpstreamFailure) {
                let issued = try await fetch()
                queue.leave(permit.place, .success(issued))
            } catch {
                // Who gives up, or has no time or no turn left, says nothing about the endpoint.
                queue.leave(
                    permit.place, [.cancelled, .timedOut, .overloaded].contains(error.kind) ? nil : .failure(error))
                throw error
            }
        }
    }

    func invalidate(_ token: Secret, of owner: TokenOwner) {
        queue.update { $0.invalidate(token, of: owner) }
    }

    func forget(_ account: String) {
        queue.update { $0.forget(account) }
    }
}
