import AdapterKit

/// Why a refresh begins.
public enum RefreshTrigger: String, Sendable {
    /// Its time has come.
    case schedule
    /// A caller reads rows that are older than ``MirrorSettings/freshFor``.
    case read
    /// A device pulls.
    case pull
    /// The other system says that something has changed.
    case webhook
    /// An operator asks for it.
    case `operator`
}

/// The end of a refresh.
public enum RefreshOutcome: Sendable, Equatable {
    /// The records are what the other system had when the refresh began.
    case done(RefreshSummary)
    /// The other system could not be asked, or the store could not take what it said.
    case failed(ErrorCode, detail: String)
    /// The other system's answer is not taken.
    case held(HeldRefresh)
}

/// The changes that a refresh made.
public struct RefreshSummary: Sendable, Equatable {
    /// When the other system had this state.
    public var asOf: WireDate
    /// When it began; later than ``asOf`` where the other system answered with what it keeps of yet another one.
    public var began: WireDate
    /// Since what changes are asked for next.
    public var cursor: String?
    /// Rows that came, changed and went.
    public var created = 0
    /// Rows that changed.
    public var updated = 0
    /// Records that went.
    public var deleted = 0
    /// Rows that were not taken, so that their records stayed.
    public var refused = 0
    /// Rows with values that do not fit their fields, also those that the refresh did not read again.
    public var misfits = 0
    /// Rows that repeat the key of an earlier one, which counts.
    public var repeated = 0

    /// Creates a summary without changes. `began`; nil: then the other system had this state.
    public init(asOf: WireDate, began: WireDate? = nil, cursor: String? = nil) {
        self.asOf = asOf
        self.began = began ?? asOf
        self.cursor = cursor
    }
}

/// A refresh that changed nothing because what it brought is not to be believed.
public struct HeldRefresh: Sendable, Equatable {
    /// Why it is held back.
    public enum Reason: Sendable, Equatable {
        /// It would change or delete so many of so many records.
        case share(changed: Int, of: Int)
        /// The answer is not what was asked for.
        case answer(MirrorRefusal.Kind)
    }

    /// Why it is held back.
    public let reason: Reason
    /// For operators.
    public let detail: String
    /// When it was held back.
    public let time: WireDate
    /// Whether an operator may release it: its rows are there.
    public var isReleasable: Bool {
        if case .share = reason { true } else { false }
    }

    /// Creates a held refresh with these values.
    public init(_ reason: Reason, detail: String, time: WireDate) {
        self.reason = reason
        self.detail = detail
        self.time = time
    }
}

/// When a mirror is refreshed, and whether its rows may be served: a state machine that does nothing itself.
///
/// One refresh goes on at a time. A read of rows that are not fresh asks for one, unless one failed so recently that the
/// other system is left alone: the pause doubles with each failure in a row.
public struct MirrorMachine: Sendable {
    private static let backoff = Backoff(first: 1, longest: 60)
    /// Seconds between the beginnings of two refreshes that a webhook asks for, at least: a client that calls it
    /// often does not have the other system read as often.
    public static let webhookInterval = 5.0
    /// The share of an interval by which a scheduled refresh comes earlier or later, so that mirrors of one system do not
    /// refresh together.
    public static let jitter = 0.1

    /// The next step of a read.
    public enum Read: Sendable, Equatable {
        /// The rows are fresh, or no refresh is to be had: they are served as they are.
        case serve(asOf: WireDate)
        /// A refresh is under way or to be begun: the read waits for it, at most ``MirrorSettings/waitFor``.
        case wait
        /// There is nothing that may be served.
        case refuse
    }

    /// When and what the machine is asked to do next.
    public enum Next: Sendable, Equatable {
        /// A refresh is to begin now, for this reason.
        case refresh(RefreshTrigger)
        /// Nothing is to be done before this instant, unless something is asked for.
        case wait(until: WireDate?)
    }

    /// As the configuration has them now.
    public private(set) var settings: MirrorSettings
    /// When the other system had the state that the records have; nil: they were never fetched.
    public private(set) var asOf: WireDate?
    /// When the other system was asked for that state. Freshness counts from here, age from ``asOf``: rows that were
    /// old already when they came would have every read ask again.
    private(set) var asked: WireDate?
    /// Since what changes are asked for next; nil: every row is.
    public private(set) var cursor: String?
    /// The refresh that goes on, and when it began; nil: none.
    public private(set) var running: (trigger: RefreshTrigger, since: WireDate)?
    /// The last refresh that was held back, until one is done.
    public private(set) var held: HeldRefresh?
    /// Why the last refresh failed; nil where it did not.
    public private(set) var failure: (code: ErrorCode, detail: String, time: WireDate)?
    /// Failed or held back in a row.
    public private(set) var failures = 0
    /// The last refresh that was done since the start.
    public private(set) var last: RefreshSummary?
    private var wanted: RefreshTrigger?
    private var lastBegan: WireDate?
    private var resumesAt: WireDate?
    private var scheduled: WireDate?

    /// The machine of a mirror whose records had that state when the process began. `random` is from 0 to 1.
    public init(settings: MirrorSettings, asOf: WireDate?, cursor: String?, at now: WireDate, random: Double) {
        self.settings = settings
        self.asOf = asOf
        asked = asOf
        self.cursor = cursor
        if let interval = settings.refresh {
            let due = (asOf ?? now).adding(interval / .seconds(1) * (1 + Self.jitter * (2 * random - 1)))
            scheduled = asOf == nil ? now : max(now, due)
        }
    }

    /// Other settings hold from now on. A refresh that goes on ends as it began. `random` is from 0 to 1.
    public mutating func change(to other: MirrorSettings, at now: WireDate, random: Double) {
        let isScheduledAnew = settings.refresh != other.refresh
        settings = other
        guard isScheduledAnew else { return }
        scheduled = other.refresh.map { interval in
            let due = (asked ?? now).adding(interval / .seconds(1) * (1 + Self.jitter * (2 * random - 1)))
            return asked == nil ? now : max(now, due)
        }
    }

    /// Whether the rows need no refresh.
    public func isFresh(at now: WireDate) -> Bool {
        guard let asked, now.seconds(since: asked) <= settings.freshFor / .seconds(1) else { return false }
        return servableTime(at: now) != nil
    }

    /// The time as of which rows that are not fresh may be served, once no refresh is waited for any more.
    public func servableTime(at now: WireDate) -> WireDate? {
        asOf.flatMap { now.seconds(since: $0) <= settings.staleFor / .seconds(1) ? $0 : nil }
    }

    /// A caller reads.
    public mutating func read(at now: WireDate) -> Read {
        if let asOf, isFresh(at: now) { return .serve(asOf: asOf) }
        if running != nil || wanted.map({ $0 != .webhook }) ?? false { return .wait }
        if let resumesAt, resumesAt > now { return servableTime(at: now).map { .serve(asOf: $0) } ?? .refuse }
        wanted = .read
        return .wait
    }

    /// Whether a refresh is to begin because of it, that would not have begun otherwise. A pull asks as a read does; an
    /// operator and a webhook are not held up by earlier failures.
    public mutating func ask(by trigger: RefreshTrigger, at now: WireDate) -> Bool {
        if trigger == .pull, isFresh(at: now) || resumesAt.map({ $0 > now }) ?? false { return false }
        // What is under way may have missed what the webhook tells of: another one follows.
        if running != nil, trigger == .pull || trigger == .read { return false }
        // A read or an operator does not wait for the webhook's turn.
        if wanted == nil || trigger == .operator || wanted == .webhook { wanted = trigger }
        return true
    }

    /// The next thing to do; a refresh counts as begun.
    public mutating func next(at now: WireDate) -> Next {
        guard running == nil else { return .wait(until: nil) }
        if let trigger = wanted {
            if trigger != .webhook || isWebhookDue(now) { return begin(trigger, now) }
        }
        let webhook = wanted == .webhook ? lastBegan?.adding(Self.webhookInterval) : nil
        guard let scheduled else { return .wait(until: webhook) }
        let due = max(scheduled, resumesAt ?? scheduled)
        guard due <= now else { return .wait(until: webhook.map { min($0, due) } ?? due) }
        return begin(.schedule, now)
    }

    private mutating func begin(_ trigger: RefreshTrigger, _ now: WireDate) -> Next {
        wanted = nil
        lastBegan = now
        running = (trigger, now)
        return .refresh(trigger)
    }

    private func isWebhookDue(_ now: WireDate) -> Bool {
        guard let lastBegan else { return true }
        let passed = now.seconds(since: lastBegan)
        // A clock that was set back holds nothing up.
        return passed < 0 || passed >= Self.webhookInterval
    }

    /// The refresh has ended. `random` is from 0 to 1.
    public mutating func finish(_ outcome: RefreshOutcome, at now: WireDate, random: Double) {
        running = nil
        if let interval = settings.refresh {
            scheduled = now.adding(interval / .seconds(1) * (1 + Self.jitter * (2 * random - 1)))
        }
        switch outcome {
        case .done(let summary):
            (asOf, asked, cursor, last) = (summary.asOf, summary.began, summary.cursor, summary)
            (failures, failure, held, resumesAt) = (0, nil, nil, nil)
        case .failed(let code, let detail):
            failure = (code, detail, now)
            pause(from: now, random)
        case .held(let held):
            self.held = held
            pause(from: now, random)
        }
    }

    /// The refresh ends without a result, with the task that makes it.
    public mutating func abandon() { running = nil }

    private mutating func pause(from now: WireDate, _ random: Double) {
        let end = now.adding(Self.backoff.seconds(after: failures, random: random))
        failures += 1
        resumesAt = end
        if settings.refresh != nil { scheduled = min(scheduled ?? end, end) }
    }
}

extension MirrorSettings.Guard {
    /// Why a refresh with that many changes of so many records is to be held back; nil: it is not.
    public func refusal(changed: Int, of known: Int) -> HeldRefresh.Reason? {
        guard known >= from, Double(changed) > share * Double(known) else { return nil }
        return .share(changed: changed, of: known)
    }
}

extension WireDate {
    func adding(_ seconds: Double) -> WireDate {
        WireDate(secondsSinceReferenceDate: secondsSinceReferenceDate + seconds)
    }

    func seconds(since other: WireDate) -> Double { secondsSinceReferenceDate - other.secondsSinceReferenceDate }
}
