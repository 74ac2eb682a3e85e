import AdapterKit
import DequeModule

/// Which account's job runs next: the accounts that have any take turns, the jobs of one keep their order. A pure policy.
public struct AccountTurns<Job> {
    @usableFromInline
    struct Account {
        @usableFromInline var waiting = Deque<Job>()
        @usableFromInline var running = 0

        @usableFromInline
        init() {}
    }

    /// Jobs of one account that run at once.
    public let perAccount: Int
    @usableFromInline var accounts: [CallerIdentity: Account] = [:]
    /// Accounts that have a job waiting and may have one more run, in the order of their turns.
    @usableFromInline var ring = Deque<CallerIdentity>()

    public init(perAccount: Int) {
        self.perAccount = perAccount
    }

    /// Whether ``next()`` would return a job.
    @inlinable public var hasNext: Bool { !ring.isEmpty }

    /// No job waits or runs.
    @inlinable public var isEmpty: Bool { accounts.isEmpty }

    /// Jobs of the account that wait, and that run.
    @inlinable
    public func counts(of name: CallerIdentity) -> (waiting: Int, running: Int) {
        accounts[name].map { ($0.waiting.count, $0.running) } ?? (0, 0)
    }

    @inlinable
    public mutating func append(_ job: Job, for name: CallerIdentity) {
        let takesTurn = { (account: inout Account) in
            account.waiting.append(job)
            return account.waiting.count == 1 && account.running < perAccount
        }(&accounts[name, default: Account()])
        if takesTurn { ring.append(name) }
    }

    /// The job that runs now. ``end(for:)`` is to be called after it.
    @inlinable
    public mutating func next() -> Job? {
        guard let name = ring.popFirst() else { return nil }
        let (job, takesTurn) = { (account: inout Account?) -> (Job?, Bool) in
            let job = account?.waiting.popFirst()
            account?.running += 1
            return (job, account.map { !$0.waiting.isEmpty && $0.running < perAccount } ?? false)
        }(&accounts[name])
        if takesTurn { ring.append(name) }
        return job
    }

    @inlinable
    public mutating func end(for name: CallerIdentity) {
        let takesTurn = { (account: inout Account?) -> Bool in
            guard var left = account else { return false }
            let wasFull = left.running == perAccount
            left.running -= 1
            account = left.running == 0 && left.waiting.isEmpty ? nil : left
            return wasFull && !left.waiting.isEmpty
        }(&accounts[name])
        if takesTurn { ring.append(name) }
    }

    /// Takes a job out that does not wait any more. Whether one for which `matches` holds was waiting.
    public mutating func remove(for name: CallerIdentity, where matches: (Job) -> Bool) -> Bool {
        guard var account = accounts[name], let place = account.waiting.firstIndex(where: matches) else { return false }
        account.waiting.remove(at: place)
        accounts[name] = account.running == 0 && account.waiting.isEmpty ? nil : account
        if account.waiting.isEmpty, let turn = ring.firstIndex(of: name) { ring.remove(at: turn) }
        return true
    }
}

extension AccountTurns: Sendable where Job: Sendable {}
extension AccountTurns.Account: Sendable where Job: Sendable {}

/// How much of what is limited one account may take.
public enum AccountShare {
    /// Whether an account that has `own` of the `taken` places may have one more. It never has more than are free, so that an
    /// account that has none yet finds one, however many others take all that they can get.
    public static func hasRoom(own: Int, taken: Int, of limit: Int) -> Bool {
        taken < limit && own < limit - taken
    }
}
