import AdapterKit

/// A few turns for many accounts: the accounts that have requests waiting take turns, those of one keep their order, and of several turns
/// one is always left for another account. A policy.
public struct AccountQueue<Refusal: Error>: AdmissionPolicy {
    /// How many of the places one account may have in the queue.
    public enum WaitingShare: Sendable {
        /// Half of them, whatever others have.
        case half
        /// Never more than are free (``AccountShare``).
        case free
    }

    private let limit: Int
    private let places: Int
    private let share: WaitingShare
    private let refusesSystem: Bool
    private let refusal: Refusal
    private var turns: AccountTurns<AdmissionTicket>
    private var accounts: [AdmissionTicket: CallerIdentity] = [:]
    private var running = 0

    /// `limit`: requests that are admitted at once; `places`: requests that wait; `refusal`: of one for which there is no place.
    /// `refusesSystem`: also one of the gateway's own.
    public init(limit: Int, places: Int, share: WaitingShare, refusesSystem: Bool = true, refusal: Refusal) {
        (self.limit, self.places, self.share, self.refusal) = (limit, places, share, refusal)
        self.refusesSystem = refusesSystem
        turns = AccountTurns(perAccount: max(1, limit - 1))
    }

    public var counts: AdmissionCounts { AdmissionCounts(running: running, waiting: accounts.count) }

    public mutating func arrive(
        _ account: CallerIdentity, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, Refusal> {
        let own = turns.counts(of: account)
        guard
            running < limit && own.running < turns.perAccount || hasPlace(own.waiting)
                || account == .system && !refusesSystem
        else { return .refused(refusal) }
        turns.append(ticket, for: account)
        accounts[ticket] = account
        return .undecided
    }

    private func hasPlace(_ own: Int) -> Bool {
        switch share {
        case .half: accounts.count < places && own < max(1, places / 2)
        case .free: AccountShare.hasRoom(own: own, taken: accounts.count, of: places)
        }
    }

    public mutating func abandon(_ ticket: AdmissionTicket) {
        guard let account = accounts.removeValue(forKey: ticket) else { return }
        _ = turns.remove(for: account) { $0 == ticket }
    }

    public mutating func leave(_ account: CallerIdentity, as ticket: AdmissionTicket, _ end: Void, at now: Instant) {
        turns.end(for: account)
        running -= 1
    }

    public mutating func next(at now: Instant) -> AdmissionDecision<Void, Refusal>? {
        guard running < limit, let ticket = turns.next() else { return nil }
        running += 1
        accounts[ticket] = nil
        return .admit(ticket, ())
    }
}
