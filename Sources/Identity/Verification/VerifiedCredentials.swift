import AdapterKit

/// The credentials that were verified lately, so that a call costs no database and no hash.
///
/// A state machine without effects. What a revocation ends is gone when its method returns. A verification that began
/// before a revocation may have read what was true before it, so its result is not admitted: it brings the ticket from
/// ``find(_:now:)``, and tickets of an earlier generation are void.
package struct VerifiedCredentials: Sendable {
    package struct Ticket: Sendable {
        fileprivate let generation: UInt64
    }

    package enum Answer {
        case known(Authentication)
        case unknown(Ticket)
    }

    private struct Entry {
        let authentication: Authentication
        let validUntil: WireDate
        var lastUsed: WireDate
    }

    let capacity: Int
    /// Applies to session cookies only.
    let idle: Duration
    private var entries: [CredentialKey: Entry] = [:]
    private var keysOfAccount: [AccountID: Set<CredentialKey>] = [:]
    private var generation: UInt64 = 0
    /// Sessions used since this was last taken.
    private var used: [SessionID: WireDate] = [:]

    package init(capacity: Int, idle: Duration) {
        self.capacity = capacity
        self.idle = idle
    }

    package mutating func find(_ key: CredentialKey, now: WireDate) -> Answer {
        guard let entry = entries[key] else { return .unknown(Ticket(generation: generation)) }
        guard now < entry.validUntil, !isIdle(entry, now: now) else {
            remove(key)
            return .unknown(Ticket(generation: generation))
        }
        if entry.authentication.method == .sessionCookie {
            entries[key]?.lastUsed = now
            note(entry.authentication, now: now)
        }
        return .known(entry.authentication)
    }

    package mutating func admit(
        _ key: CredentialKey, _ authentication: Authentication, until validUntil: WireDate, ticket: Ticket,
        now: WireDate
    ) {
        guard ticket.generation == generation else { return }
        if entries.count >= capacity { makeRoom(now: now) }
        entries[key] = Entry(authentication: authentication, validUntil: validUntil, lastUsed: now)
        keysOfAccount[authentication.account, default: []].insert(key)
        if authentication.method == .sessionCookie { note(authentication, now: now) }
    }

    /// Every credential of the account for which `matches` holds.
    package mutating func revoke(_ account: AccountID, where matches: (Authentication) -> Bool = { _ in true }) {
        generation += 1
        for key in keysOfAccount[account] ?? [] where entries[key].map({ matches($0.authentication) }) ?? true {
            remove(key)
        }
    }

    mutating func forgetAll() {
        generation += 1
        entries = [:]
        keysOfAccount = [:]
    }

    mutating func takeUsed() -> [SessionID: WireDate] {
        defer { used = [:] }
        return used
    }
}

extension VerifiedCredentials {
    private func isIdle(_ entry: Entry, now: WireDate) -> Bool {
        entry.authentication.method == .sessionCookie && now - entry.lastUsed > idle.inSeconds
    }

    private mutating func note(_ authentication: Authentication, now: WireDate) {
        guard let session = authentication.session else { return }
        if used.count < capacity || used[session] != nil { used[session] = now }
    }

    private mutating func remove(_ key: CredentialKey) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        let account = entry.authentication.account
        keysOfAccount[account]?.remove(key)
        if keysOfAccount[account]?.isEmpty == true { keysOfAccount[account] = nil }
    }

    /// What has ended goes first; if that is less than a tenth, any tenth goes: it is verified again when it is used.
    private mutating func makeRoom(now: WireDate) {
        for (key, entry) in entries where now >= entry.validUntil { remove(key) }
        guard entries.count > capacity * 9 / 10 else { return }
        for key in Array(entries.keys.prefix(max(1, capacity / 10))) { remove(key) }
    }
}
