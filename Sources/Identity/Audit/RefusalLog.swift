import AdapterKit
import Synchronization

/// Decides which refused sign-ins become audit entries of their own and which are counted: callers without an account
/// cause refusals, so they must not decide how fast the log grows.
///
/// A state machine without effects. The first refusal of a kind is an entry at once; further ones of the same kind are
/// counted and written together, one entry a minute. Beyond ``perHour`` entries only a total is written, once a minute.
package struct RefusalLog: Sendable {
    /// The key by which two refusals are the same: from where, of which name as it was typed, by which way. Kept in memory only.
    struct Source: Hashable {
        let address: ClientAddress
        let name: String
        let detail: String
    }

    private struct Window {
        let event: AuditEvent
        var began: WireDate
        var further = 0
    }

    /// Between two entries of one source.
    static let window = Duration.seconds(60)
    /// Sources that are counted separately; refusals of further ones count as beyond ``perHour``.
    static let sources = 10_000

    private(set) var perHour: Int
    private var windows: [Source: Window] = [:]
    private var allowance: Double
    private var refilled: WireDate
    private var surplus = 0
    private var surplusWritten: WireDate?

    package init(perHour: Int, now: WireDate) {
        self.perHour = perHour
        allowance = Double(perHour)
        refilled = now
    }

    /// Takes another number for an hour; refusals of this hour that were written count against it.
    mutating func use(perHour other: Int) {
        allowance = max(0, allowance + Double(other - perHour))
        perHour = other
    }

    /// Refusals that wait to be written.
    var pending: Int { windows.values.reduce(surplus) { $0 + $1.further } }

    /// Counts a refusal, and returns the events that are to be written now.
    mutating func note(_ event: AuditEvent, from source: Source, now: WireDate) -> [AuditEvent] {
        refill(now)
        if var window = windows[source] {
            window.further += 1
            windows[source] = window
            return isOver(window, now) ? write(source, now: now) + writeSurplus(now) : writeSurplus(now)
        }
        guard windows.count < Self.sources, takeAllowance() else {
            surplus += 1
            return writeSurplus(now)
        }
        windows[source] = Window(event: event, began: now)
        return [event] + writeSurplus(now)
    }

    /// Returns the events that have been counted for a minute. To be called about once a minute.
    mutating func flush(now: WireDate) -> [AuditEvent] {
        refill(now)
        var events: [AuditEvent] = []
        for (source, window) in windows where isOver(window, now) {
            if window.further == 0 { windows[source] = nil } else { events += write(source, now: now) }
        }
        return events + writeSurplus(now)
    }

    private mutating func write(_ source: Source, now: WireDate) -> [AuditEvent] {
        guard let window = windows[source] else { return [] }
        guard takeAllowance() else {
            surplus += window.further
            windows[source] = nil
            return []
        }
        windows[source] = Window(event: window.event, began: now)
        return [window.event.repeated(window.further)]
    }

    private mutating func writeSurplus(_ now: WireDate) -> [AuditEvent] {
        guard surplus > 0, surplusWritten.map({ now - $0 >= Self.window || now < $0 }) ?? true else { return [] }
        defer { (surplus, surplusWritten) = (0, now) }
        return [AuditEvent(.signInRefused, actor: "", detail: "others").repeated(surplus)]
    }

    private func isOver(_ window: Window, _ now: WireDate) -> Bool {
        now - window.began >= Self.window || now < window.began
    }

    private mutating func takeAllowance() -> Bool {
        guard allowance >= 1 else { return false }
        allowance -= 1
        return true
    }

    private mutating func refill(_ now: WireDate) {
        let passed = max(0, (now - refilled).inSeconds)
        allowance = min(Double(perHour), allowance + passed * Double(perHour) / 3600)
        refilled = now
    }
}

extension AuditEvent {
    /// The same, so many times.
    fileprivate func repeated(_ count: Int) -> AuditEvent {
        guard count > 1 else { return self }
        let words = [detail, "\(count) times"].filter { !$0.isEmpty }
        return AuditEvent(
            kind, actor: actor, subject: subject, address: address, detail: words.joined(separator: ", "))
    }
}

/// Executes ``RefusalLog``.
final class RefusalRecorder: Sendable {
    private let log: Mutex<RefusalLog>
    private let postponed: PostponedEvents
    private let clock: any WallClock

    init(perHour: Int, writes: AuditedWrites, clock: any WallClock) {
        log = Mutex(RefusalLog(perHour: perHour, now: clock.now()))
        postponed = PostponedEvents(.signInRefused, writes: writes, clock: clock)
        self.clock = clock
    }

    /// Returns when what is to be written of it is durable, or postponed because the store is full.
    func record(_ event: AuditEvent, name: String, from address: ClientAddress) async throws {
        let source = RefusalLog.Source(address: address, name: name, detail: event.detail)
        try await postponed.record(log.withLock { $0.note(event, from: source, now: clock.now()) })
    }

    func use(perHour: Int) { log.withLock { $0.use(perHour: perHour) } }

    func flush() async throws {
        try await postponed.record(log.withLock { $0.flush(now: clock.now()) })
    }
}
