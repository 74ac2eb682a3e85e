import AdapterKit
import RecordStorage
import Synchronization

/// One entity whose truth is in another system: executes its ``MirrorMachine`` over a store.
///
/// ``run()`` is the one task that refreshes; a read asks for a refresh and waits for its end, so that one fetch
/// serves all who ask at once and no caller's end breaks it off.
public final class Mirror: Sendable {
    /// Reads one page of the source.
    public typealias Reading = @Sendable (MirrorRequest) async throws -> MirrorPage

    /// The adapter's name and the entity's.
    public let id: CollectionID
    /// The adapter's declaration of the mirror when it began; for its settings see ``change(to:)``.
    public let source: MirrorSource
    private let refresh: MirrorRefresh
    private let clock: any WallClock
    private let random: @Sendable () -> Double
    private let sleep: @Sendable (Duration) async throws -> Void
    /// The pause of the task that runs.
    private let pause: InterruptibleSleep
    private let log: Log
    private let state: Mutex<State>
    private let settings: CurrentSettings

    fileprivate struct State {
        var machine: MirrorMachine
        var stored: MirrorState
        var held: MirrorRefresh.Held?
        var readers: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// Waiters for the end of a refresh that has not begun yet, and of the one that goes on.
        var next: [CheckedContinuation<RefreshOutcome, Never>] = []
        var current: [CheckedContinuation<RefreshOutcome, Never>] = []
        var releases: [CheckedContinuation<Result<RefreshSummary, PorticoError>, Never>] = []
        var lastReader: UInt64 = 0
        var isStopped = false
        /// Whether the next refresh asks for every row.
        var refreshesWhole = false
    }

    /// `stored`: what the store has of it (``StoreSnapshot/mirrorState(of:)``). `writes`: what callers change of it, which a
    /// refresh leaves as it is; nil: they change nothing. `limits`: of one refresh. `random` gives numbers from 0 to 1.
    public init(
        _ source: MirrorSource, of collection: CollectionDeclaration, stored: WireDictionary?,
        in store: any MirrorStore, writes: MirrorWrites? = nil,
        limits: RefreshLimits = RefreshLimits(),
        clock: any WallClock, random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, log: Log,
        read: @escaping Reading
    ) {
        id = collection.id
        self.source = source
        self.clock = clock
        self.random = random
        self.sleep = sleep
        pause = InterruptibleSleep(clock: clock, sleep: sleep)
        self.log = log
        let settings = CurrentSettings(source.settings)
        self.settings = settings
        refresh = MirrorRefresh(
            collection: collection, source: source, beginReplacement: { try await store.beginReplacement(of: $0) },
            read: read, clock: clock, protection: writes?.protection, limits: limits,
            currentGuard: { settings.value.guard })
        let known = MirrorState(stored).of(source.upstream)
        state = Mutex(
            State(
                machine: MirrorMachine(
                    settings: source.settings, asOf: known.asOf, cursor: known.cursor, at: clock.now(), random: random()
                ),
                stored: known))
    }

    /// Other settings hold from now on, for the next read and the next refresh.
    public func change(to other: MirrorSettings) {
        guard settings.value != other else { return }
        settings.replace(with: other)
        let (now, random) = (clock.now(), random())
        state.withLock { $0.machine.change(to: other, at: now, random: random) }
        // When the next refresh is due may have changed.
        pause.interrupt()
    }

    /// Whether ``run()`` has ended: it refreshes no more, and those who waited have been answered that it stopped.
    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// The age of the rows where they are fresh; nil where a read has to ask (``read()``).
    public func freshAge() -> MirrorAge? {
        let now = clock.now()
        return state.withLock { state in
            guard let asOf = state.machine.asOf, state.machine.isFresh(at: now) else { return nil }
            return MirrorAge(asOf: asOf, now: now, cache: .hit)
        }
    }

    /// Whether there are rows of it: it was fetched once.
    public var hasRows: Bool { state.withLock { $0.machine.asOf != nil } }

    /// Says how old the rows are that may be served now. Where they are not fresh it waits for a refresh, at most
    /// ``MirrorSettings/waitFor`` and until the task is cancelled, and ends shortly before the deadline of the request that is
    /// answered (``CallContext/current``), so that there is time to answer with what there is.
    ///
    /// Throws `adapter.unavailable`, naming the upstream, where the rows are too old or were never fetched.
    public func read() async throws(PorticoError) -> MirrorAge {
        if let age = freshAge() { return age }
        let before = state.withLock { $0.machine.asked }
        await waitForRefresh()
        let now = clock.now()
        let (served, asked, cause) = state.withLock {
            ($0.machine.servableTime(at: now), $0.machine.asked, $0.machine.cause)
        }
        guard let served else { throw unavailable(cause) }
        guard asked == before else {
            return MirrorAge(asOf: served, now: now, cache: .refreshed(isFirst: before == nil))
        }
        return MirrorAge(asOf: served, now: now, cache: .stale(detail: cause ?? "upstream-timeout"))
    }

    /// Asks for a refresh, and waits for nothing. True where one begins by it.
    @discardableResult
    public func ask(by trigger: RefreshTrigger) -> Bool {
        let now = clock.now()
        guard state.withLock({ $0.machine.ask(by: trigger, at: now) }) else { return false }
        pause.interrupt()
        return true
    }

    /// Refreshes and returns how that ended. `isWhole`: every row is asked for, also of a source of increments.
    public func refreshNow(by trigger: RefreshTrigger, isWhole: Bool = false) async -> RefreshOutcome {
        let now = clock.now()
        return await withCheckedContinuation { caller in
            let isStopped = state.withLock { state in
                guard !state.isStopped else { return true }
                state.next.append(caller)
                if isWhole { state.refreshesWhole = true }
                _ = state.machine.ask(by: trigger, at: now)
                return false
            }
            if isStopped { caller.resume(returning: Self.stopped) } else { pause.interrupt() }
        }
    }

    /// Makes the refresh that is held back take effect. Throws `record.notFound` where none is that could.
    public func release() async throws(PorticoError) -> RefreshSummary {
        let result = await withCheckedContinuation { caller in
            let isStopped = state.withLock { state in
                guard !state.isStopped else { return true }
                state.releases.append(caller)
                return false
            }
            if isStopped { caller.resume(returning: .failure(Self.nothingHeld)) } else { pause.interrupt() }
        }
        return try result.get()
    }

    /// Some of the rows that the refresh which is held back would change, at most `limit` of each kind. Throws
    /// `record.notFound` where none is held back that could be released, `record.conflict` where that changes meanwhile.
    public func preview(_ limit: Int) async throws -> ReplacementSample {
        guard let held = state.withLock({ $0.held }) else { throw Self.nothingHeld }
        do { return try await held.replacement.sample(limit, held.options) } catch let error as CancellationError {
            throw error
        } catch {
            guard state.withLock({ $0.held }) == nil else { throw error }
            throw PorticoError(.recordConflict, "The refresh is not held back any more.")
        }
    }

    /// The number of rows of each kind that the refresh which is held back would change. Throws as ``preview(_:)`` does.
    public func previewDifference() async throws -> ReplacementDifference {
        guard let held = state.withLock({ $0.held }) else { throw Self.nothingHeld }
        var difference = try await held.replacement.difference()
        if !held.options.deletesMissing { difference.deleted = held.options.removing.count }
        return difference
    }

    /// The present state of the mirror.
    public var status: MirrorStatus {
        state.withLock { MirrorStatus(machine: $0.machine, stored: $0.stored) }
    }

    private func unavailable(_ cause: String?) -> PorticoError {
        let silent =
            cause == Self.adapterIsUnavailable
            ? "The adapter does not run" : "The system \(source.upstream) gives no answer that can be used"
        return PorticoError(
            .adapterUnavailable,
            "\(silent), and what is known of its \(id.entity) is too old or nothing.",
            retryAfter: 5, logDetail: cause)
    }

    /// Why rows are not younger where the other system was not asked.
    static let adapterIsUnavailable = "adapter-unavailable"
    private static let stopped = RefreshOutcome.failed(.adapterUnavailable, detail: "the gateway stops")
    private static let nothingHeld = PorticoError(.recordNotFound, "No refresh is held back that could be released.")
}

extension Mirror {
    /// Refreshes whenever it is asked for or its time has come, until the task is cancelled. To be called once.
    public func run() async {
        while !Task.isCancelled {
            if let callers = takeReleases() {
                let result = await releaseHeld()
                for caller in callers { caller.resume(returning: result) }
                continue
            }
            let now = clock.now()
            switch state.withLock({ $0.begin(at: now) }) {
            case .refresh(let trigger): await refresh(by: trigger)
            case .wait(let instant): await pause.run(until: instant)
            }
        }
        stop()
    }

    private func refresh(by trigger: RefreshTrigger) async {
        let known = state.withLock { state in
            var known = state.stored
            if state.refreshesWhole { known.cursor = nil }
            state.refreshesWhole = false
            return known
        }
        var outcome: RefreshOutcome
        var held: MirrorRefresh.Held?
        do {
            let result = try await CallContext.$isOperatorTry.withValue(trigger == .operator) {
                try await refresh.run(since: known)
            }
            switch result {
            case .done(let summary, let stored):
                outcome = .done(summary)
                report(stored.drifts.subtracting(known.drifts))
                if stored.misfits != known.misfits { report(stored.misfits) }
                state.withLock { $0.stored = stored }
            case .held(let reason, let snapshot):
                outcome = .held(reason)
                held = snapshot
            }
        } catch  where Task.isCancelled {
            // It ends with the gateway, or because another mirror takes its place; ``stop()`` answers who waits.
            return state.withLock { $0.machine.abandon() }
        } catch let refusal as MirrorRefusal {
            outcome = .held(HeldRefresh(.answer(refusal.kind), detail: refusal.detail, time: clock.now()))
        } catch {
            let known = (error as? UpstreamFailure)?.asError ?? error as? PorticoError
            outcome = .failed(known?.code ?? .serverInternal, detail: known?.logDetail ?? "\(error)")
        }
        end(outcome, held, by: trigger)
    }

    private func end(_ outcome: RefreshOutcome, _ held: MirrorRefresh.Held?, by trigger: RefreshTrigger) {
        let (now, chance) = (clock.now(), random())
        let (isFirst, repeatedBefore, waiting) = state.withLock { state in
            let before = state.machine
            state.machine.finish(outcome, at: now, random: chance)
            state.held = held
            let waiting = (Array(state.readers.values), state.current)
            (state.readers, state.current) = ([:], [])
            return (before.isNews(outcome), before.last?.repeated ?? 0, waiting)
        }
        report(outcome, by: trigger, isFirst: isFirst)
        if case .done(let summary) = outcome, summary.repeated > 0, repeatedBefore == 0 {
            log.warning(
                "rows of a mirror repeat a key",
                ["mirror": .text("\(id)"), "rows": .count(summary.repeated)])
        }
        for reader in waiting.0 { reader.resume() }
        for caller in waiting.1 { caller.resume(returning: outcome) }
    }

    private func releaseHeld() async -> Result<RefreshSummary, PorticoError> {
        guard
            let held = state.withLock({ state in
                defer { state.held = nil }
                return state.held
            })
        else { return .failure(Self.nothingHeld) }
        do {
            _ = try await held.replacement.apply(held.options)
            state.withLock { $0.stored = MirrorState(held.options.state) }
            end(.done(held.summary), nil, by: .operator)
            return .success(held.summary)
        } catch {
            return .failure(
                error as? PorticoError ?? PorticoError(.storeUnavailable, "The refresh cannot be released."))
        }
    }

    private func takeReleases() -> [CheckedContinuation<Result<RefreshSummary, PorticoError>, Never>]? {
        state.withLock { state in
            guard !state.releases.isEmpty else { return nil }
            defer { state.releases = [] }
            return state.releases
        }
    }

    private func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            defer { (state.readers, state.current, state.next, state.releases) = ([:], [], [], []) }
            return (Array(state.readers.values), state.current + state.next, state.releases)
        }
        for reader in waiting.0 { reader.resume() }
        for caller in waiting.1 { caller.resume(returning: Self.stopped) }
        for caller in waiting.2 { caller.resume(returning: .failure(Self.nothingHeld)) }
    }
}

extension Mirror {
    private func waitForRefresh() async {
        let number = state.withLock { state in
            state.lastReader += 1
            return state.lastReader
        }
        let wait = CallContext.waiting(settings.value.waitFor)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                if (try? await self.sleep(wait)) != nil { self.endWait(number) }
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { caller in self.beginWait(number, caller) }
            } onCancel: {
                endWait(number)
            }
            group.cancelAll()
        }
    }

    private func beginWait(_ number: UInt64, _ caller: CheckedContinuation<Void, Never>) {
        let now = clock.now()
        let waits = state.withLock { state in
            guard !state.isStopped, !Task.isCancelled, state.machine.read(at: now) == .wait else { return false }
            state.readers[number] = caller
            return true
        }
        if waits { pause.interrupt() } else { caller.resume() }
    }

    private func endWait(_ number: UInt64) {
        state.withLock { $0.readers.removeValue(forKey: number) }?.resume()
    }
}

extension Mirror.State {
    mutating func begin(at now: WireDate) -> MirrorMachine.Next {
        let step = machine.next(at: now)
        if case .refresh = step { (current, next) = (next, []) }
        return step
    }
}

extension Mirror {
    /// Rows that a log line names.
    private static let reportedMisfits = 5

    private func report(_ outcome: RefreshOutcome, by trigger: RefreshTrigger, isFirst: Bool) {
        let name = LogValue.text("\(id)")
        switch outcome {
        case .done(let summary):
            log.info(
                "mirror refreshed",
                [
                    "mirror": name, "trigger": .text(trigger.rawValue), "created": .count(summary.created),
                    "updated": .count(summary.updated), "deleted": .count(summary.deleted),
                    "refused": .count(summary.refused), "misfits": .count(summary.misfits),
                ])
        case .failed(let code, let detail) where isFirst:
            log.warning(
                "mirror cannot be refreshed",
                [
                    "mirror": name, "upstream": .text(source.upstream.text), "code": .text(code.rawValue),
                    "detail": .text(detail),
                ])
        case .held(let held) where isFirst:
            log.warning(
                "refresh of a mirror held back",
                ["mirror": name, "upstream": .text(source.upstream.text), "detail": .text(held.detail)])
        case .failed, .held: break
        }
    }

    private func report(_ misfits: MirrorMisfits) {
        let named = misfits.rows.sorted { $0.key < $1.key }.prefix(Self.reportedMisfits)
            .map { "\($0.key): \($0.value.sorted().joined(separator: ", "))" }
        guard !named.isEmpty else { return }
        log.warning(
            "values of a mirror's rows do not fit their fields",
            [
                "mirror": .text("\(id)"), "rows": .count(misfits.count),
                "first": .text(named.joined(separator: "; ")),
            ])
    }

    private func report(_ drifts: Set<FieldDrift>) {
        for drift in drifts.sorted() {
            log.warning(
                "field of a mirror has drifted",
                ["mirror": .text("\(id)"), "field": .text(drift.field), "drift": .text(drift.kind.rawValue)])
        }
    }
}

/// The age of an answer's rows, and why they are no younger.
public struct MirrorAge: Sendable, Equatable {
    /// Where the rows come from.
    public enum Cache: Sendable, Equatable {
        /// They are fresh; nothing was asked.
        case hit
        /// They were fetched for this read; `isFirst`: for the first time.
        case refreshed(isFirst: Bool)
        /// They could not be fetched for this read, and why: one token.
        case stale(detail: String)
    }

    /// When the other system had them.
    public let asOf: WireDate
    /// In whole seconds, for `Age` (RFC 9111, section 5.1).
    public let seconds: Int
    /// Where the rows come from.
    public let cache: Cache

    init(asOf: WireDate, now: WireDate, cache: Cache) {
        self.asOf = asOf
        seconds = Int(max(0, min(now.seconds(since: asOf), Double(Int32.max))))
        self.cache = cache
    }

    /// As adapters see it.
    public var recordAge: RecordAge { RecordAge(asOf: asOf, seconds: seconds, cacheStatus: cacheStatus) }

    /// `Cache-Status` (RFC 9211).
    public var cacheStatus: String {
        switch cache {
        case .hit: "portico; hit"
        case .refreshed(let isFirst): isFirst ? "portico; fwd=miss; stored" : "portico; fwd=stale; stored"
        case .stale(let detail): "portico; fwd=stale; detail=\(detail)"
        }
    }
}

/// The state of a mirror, for operators.
public struct MirrorStatus: Sendable {
    /// When it was refreshed, and how.
    public let machine: MirrorMachine
    /// The stored state.
    public let stored: MirrorState

    /// A word: `never`, `refreshing`, `held`, `failing` or `good`.
    public var word: String {
        if machine.running != nil { return "refreshing" }
        if machine.held != nil { return "held" }
        if machine.failure != nil { return "failing" }
        return machine.asOf == nil ? "never" : "good"
    }
}

extension MirrorMachine {
    /// Why the rows are not younger, as one token; nil where no refresh has failed.
    var cause: String? {
        if held != nil { return "refresh-held" }
        switch failure?.code {
        case nil: return nil
        case .upstreamTimeout, .deadlineExceeded: return "upstream-timeout"
        case .storeFull, .storeUnavailable: return "store-unavailable"
        case .adapterUnavailable: return Mirror.adapterIsUnavailable
        default: return "upstream-failed"
        }
    }

    /// Whether an end is another than the last one, so that it is worth a line in the log.
    func isNews(_ outcome: RefreshOutcome) -> Bool {
        switch outcome {
        case .done: true
        case .failed(let code, _): failure?.code != code
        case .held(let held): self.held?.reason != held.reason
        }
    }
}

/// A mirror's settings by the configuration of now.
private final class CurrentSettings: Sendable {
    private let settings: Mutex<MirrorSettings>

    init(_ settings: MirrorSettings) {
        self.settings = Mutex(settings)
    }

    var value: MirrorSettings { settings.withLock { $0 } }

    func replace(with other: MirrorSettings) { settings.withLock { $0 = other } }
}
