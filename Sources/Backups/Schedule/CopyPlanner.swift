/// Decides when a full copy is made, checked and removed: a state machine that does nothing itself.
///
/// A copy counts once it is verified. Nothing is removed but what newer verified copies replace, as many of them as are to be
/// kept; so whatever fails, the last copies that were found good stay.
///
/// Times are seconds since 1970.
struct CopyPlanner {
    enum Action: Equatable {
        case copy
        case verify(CopyName)
        case remove([CopyName])
        case wait(until: Double)
    }

    struct Settings: Sendable, Equatable {
        var schedule: BackupSchedule
        /// Verified copies that are kept; at least one.
        var keep: Int
    }

    private struct Copy {
        /// When it was begun.
        let begun: Double
        var isVerified: Bool
        /// Found damaged, or left unfinished: it never becomes a verified one.
        var isUseless: Bool
    }

    private let settings: Settings
    private var copies: [CopyName: Copy] = [:]
    /// Whether the log that goes on now has a copy that it belongs to.
    private var logHasCopy = false
    /// The copies that it belongs to.
    private var logCopies: Set<CopyName> = []
    private var isRequested = false
    private var failures = 0
    private var retry = -Double.infinity
    private var removalRetry = -Double.infinity

    init(_ settings: Settings) {
        self.settings = settings
    }

    /// What the target has, of other logs. `begun`: of each.
    mutating func learn(_ name: CopyName, begun: Double, isVerified: Bool, isFinished: Bool) {
        copies[name] = Copy(begun: begun, isVerified: isVerified && isFinished, isUseless: !isFinished)
    }

    /// What is to be done now.
    func next(at now: Double) -> Action {
        if now >= removalRetry, !removable.isEmpty { return .remove(removable) }
        guard now >= retry else { return .wait(until: min(retry, removalTime(after: now))) }
        if let name = unverified { return .verify(name) }
        if isRequested || !logHasCopy { return .copy }
        let due = copies.values.filter { !$0.isUseless }.map(\.begun).max().map(settings.schedule.next) ?? now
        return due <= now ? .copy : .wait(until: min(due, removalTime(after: now)))
    }

    private func removalTime(after now: Double) -> Double { removable.isEmpty ? .infinity : max(now, removalRetry) }

    /// The last copy, where it is to be checked.
    private var unverified: CopyName? {
        guard logHasCopy, let last = copies.filter({ !$0.value.isUseless }).keys.max(),
            copies[last]?.isVerified == false
        else { return nil }
        return last
    }

    /// What newer verified copies replace, oldest first.
    var removable: [CopyName] {
        let verified = copies.filter(\.value.isVerified).keys.sorted(by: >)
        guard let newest = verified.first else { return [] }
        let oldestKept = verified.prefix(settings.keep).last ?? newest
        return copies.filter { name, copy in
            copy.isVerified ? name < oldestKept : name < newest
        }.keys.sorted()
    }

    /// A copy is wanted before its time: an operator asks for it, or the log has become long.
    mutating func request() {
        isRequested = true
        retry = -.infinity
    }

    /// Another log has begun, to which no copy belongs.
    mutating func logBegan() { (logHasCopy, logCopies) = (false, []) }

    /// A copy is being made, which satisfies what was asked for before.
    mutating func copyBegan() { isRequested = false }

    mutating func noteCopied(_ name: CopyName, begun: Double) {
        copies[name] = Copy(begun: begun, isVerified: false, isUseless: false)
        logHasCopy = true
        logCopies.insert(name)
    }

    /// Objects of a copy that did not come about may be there.
    mutating func leftUnfinished(_ name: CopyName, begun: Double) {
        copies[name] = Copy(begun: begun, isVerified: false, isUseless: true)
    }

    mutating func noteVerified(_ name: CopyName) {
        copies[name]?.isVerified = true
        failures = 0
    }

    /// It is not what it should be: another one is made.
    mutating func foundDamaged(_ name: CopyName, at now: Double) {
        copies[name]?.isUseless = true
        copies[name]?.isVerified = false
        logHasCopy = false
        noteFailure(at: now)
    }

    /// A copy or its check did not come about. It is tried again: after 5 seconds, then twice as long each time, up to ten
    /// minutes.
    mutating func noteFailure(at now: Double) {
        isRequested = false
        retry = now + min(600, 5 * Double(1 << min(failures, 7)))
        failures += 1
    }

    mutating func noteRemoved(_ name: CopyName) { copies[name] = nil }

    /// Copies could not be removed: it is tried again after ten minutes.
    mutating func removalFailed(at now: Double) { removalRetry = now + 600 }

    /// Whether the log that goes on now belongs to a verified copy.
    var logIsRestorable: Bool { logCopies.contains { copies[$0]?.isVerified ?? false } }

    /// Whether another copy was asked for than those that are made.
    var isCopyWanted: Bool { isRequested }

    /// Whether a copy may be made for the length of the log alone: ten minutes after the one before.
    func mayShortenLog(at now: Double) -> Bool {
        logHasCopy && !isRequested && unverified == nil && now >= retry
            && (copies.values.filter { !$0.isUseless }.map(\.begun).max() ?? 0) + 600 <= now
    }

    /// Verified copies, and when the last of them was begun.
    var verifiedCopies: (count: Int, last: Double?) {
        let verified = copies.values.filter(\.isVerified)
        return (verified.count, verified.map(\.begun).max())
    }
}
