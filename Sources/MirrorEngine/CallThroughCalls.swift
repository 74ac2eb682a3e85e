import AdapterKit
import Admission
import Synchronization

/// One operation that is answered by asking another system: executes its ``AnswerCache``.
///
/// ``run()`` makes the calls, so that one serves all who ask the same at once and no caller's end breaks it off. A call uses the
/// share of the account that began it until it has ended; calls that wait are made in turns by account.
public final class CallThroughCalls: Sendable {
    /// The answer of an operation, and its age.
    public typealias Answer = (result: OperationResult, age: MirrorAge)
    /// Calls the adapter.
    public typealias Performing = @Sendable () async throws -> OperationResult

    /// The longest time of a call that outlives its callers. Upstreams have deadlines of their own, which are shorter.
    public static let longestCall = Duration.seconds(60)

    private typealias Cache = AnswerCache<OperationResult>
    private typealias Reply = Result<Answer, any Error>

    private struct PendingCall {
        let key: AnswerCache<OperationResult>.Key
        let perform: Performing
        /// The context of the first caller, in whose trace the call goes on.
        let context: CallContext?
        /// The account of the first caller.
        let account: CallerIdentity
    }

    private struct Waiter {
        let key: AnswerCache<OperationResult>.Key
        let caller: CheckedContinuation<Reply, Never>
        /// When it takes an older answer.
        let until: ContinuousClock.Instant
        var isOverdue = false
    }

    private struct State {
        var cache: Cache
        var waiters: [UInt64: Waiter] = [:]
        /// Calls that wait to be made, and how many are being made.
        var turns: AccountTurns<PendingCall>
        var made = 0
        /// Whether a task looks for waiters whose time is over.
        var isWatched = false
        var lastWaiter: UInt64 = 0
        var isStopped = false
        /// Why the last call failed; nil: it did not.
        var failing: String?
    }

    /// The declared name of the operation.
    public let operation: OperationName
    /// For how long answers may be used again.
    public let settings: CallThrough
    private let width: Int
    private let clock: any WallClock
    private let sleep: @Sendable (Duration) async throws -> Void
    private let log: Log
    private let ended: @Sendable () -> Void
    private let state: Mutex<State>
    /// A call may be made.
    private let (turn, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// There are waiters again.
    private let (unwatched, watchSignal) = AsyncStream.makeStream(of: Void.self)
    /// The time by which a caller may wait too long: one look at all of them costs less than a timer for each.
    private static let resolution = Duration.milliseconds(20)

    /// `operation` is for the log, and `settings` are what the adapter declares of it. `width`: calls that are made at
    /// once, of one account all but one; the others wait for their turn. `ended` is called after each call, once it is decided what is kept.
    public init(
        _ operation: OperationName, _ settings: CallThrough, width: Int = AnswerCache<OperationResult>.mostCalls,
        clock: any WallClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, log: Log,
        ended: @escaping @Sendable () -> Void = {}
    ) {
        self.operation = operation
        self.settings = settings
        self.width = max(1, width)
        self.clock = clock
        self.sleep = sleep
        self.log = log
        self.ended = ended
        state = Mutex(
            State(cache: AnswerCache(settings), turns: AccountTurns(perAccount: max(1, self.width - 1))))
    }

    /// The answer to what a caller asks: a fresh one that is kept, the other system's, or the last good one where that
    /// fails or takes longer than ``CallThrough/waitFor``.
    ///
    /// `input`: equal for equal inputs; `owner`: the sign-in whose answer it is, nil where it is the same for all callers.
    /// Throws what the other system answers as an error, and `adapter.unavailable`, naming it, where it fails and there is
    /// no answer that may be served. Ends with the task that waits.
    public func answer(
        input: [UInt8], owner: String?, deadline: ContinuousClock.Instant, perform: @escaping Performing
    ) async throws -> Answer {
        let key = Cache.Key(operation, input: input, owner: owner)
        let now = clock.now()
        let (fresh, waiter) = state.withLock { state in
            state.lastWaiter += 1
            return (state.cache.fresh(key, at: now), state.lastWaiter)
        }
        if let fresh { return fresh }
        let until = ContinuousClock.now + CallContext.waiting(settings.waitFor, until: deadline)
        let call = PendingCall(
            key: key, perform: perform, context: CallContext.current, account: CallerIdentity.current)
        let reply = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                self.wait(waiter, Waiter(key: key, caller: caller, until: until), for: call)
            }
        } onCancel: {
            self.leave(waiter, key)
        }
        return try reply.get()
    }

    /// Begins the call for which ``answer(input:owner:deadline:perform:)`` would wait, and waits for nothing.
    public func ask(input: [UInt8], owner: String?, perform: @escaping Performing) {
        let call = PendingCall(
            key: Cache.Key(operation, input: input, owner: owner), perform: perform, context: CallContext.current,
            account: CallerIdentity.current)
        let now = clock.now()
        state.withLock { state in
            guard !state.isStopped else { return }
            state.lastWaiter += 1
            let asked = state.cache.ask(call.key, state.lastWaiter, for: call.account, at: now)
            state.cache.leave(state.lastWaiter, of: call.key)
            if case .wait(begins: true) = asked { begin(call, &state) }
        }
    }

    /// The sign-in has ended: its answers are kept no longer.
    public func forget(_ owner: String) { state.withLock { $0.cache.forget(owner) } }

    /// Whether something is kept or called for this sign-in.
    public func holds(_ owner: String) -> Bool { state.withLock { $0.cache.holds(owner) } }

    /// Answers that are kept, and their bytes.
    public var kept: (answers: Int, bytes: Int) { state.withLock { ($0.cache.count, $0.cache.bytes) } }

    /// Makes the calls until the task is cancelled. To be called once.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in self.unwatched { await self.watch() }
            }
            await makeCalls()
            group.cancelAll()
        }
        let waiting = state.withLock { state in
            state.isStopped = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiting { waiter.caller.resume(returning: .failure(unavailable("the gateway stops"))) }
    }
}

extension CallThroughCalls {
    private func wait(_ number: UInt64, _ waiter: Waiter, for call: PendingCall) {
        let now = clock.now()
        let reply: Reply? = state.withLock { state in
            // What cancels takes the lock after this, or has set the flag before.
            guard !Task.isCancelled else { return .failure(CancellationError()) }
            guard !state.isStopped else { return .failure(unavailable("the gateway stops")) }
            switch state.cache.ask(call.key, number, for: call.account, at: now) {
            case .answer(let result, let age): return .success((result, age))
            case .overloaded:
                return .failure(
                    PorticoError(
                        .overloaded, "Too many calls of the system \(settings.upstream) are under way.",
                        target: operation.text, retryAfter: 1))
            case .wait(let begins):
                state.waiters[number] = waiter
                if begins { begin(call, &state) }
                if !state.isWatched { watchSignal.yield() }
                state.isWatched = true
                return nil
            }
        }
        if let reply { waiter.caller.resume(returning: reply) }
    }

    private func begin(_ call: PendingCall, _ state: inout State) {
        state.turns.append(call, for: call.account)
        signal.yield()
    }

    private func makeCalls() async {
        await withDiscardingTaskGroup { group in
            for await _ in turn {
                while let call = nextCall() {
                    group.addTask {
                        await self.make(call)
                        self.noteMade(call)
                    }
                }
            }
            group.cancelAll()
        }
    }

    private func nextCall() -> PendingCall? {
        state.withLock { state in
            guard state.made < width, let call = state.turns.next() else { return nil }
            state.made += 1
            return call
        }
    }

    private func noteMade(_ call: PendingCall) {
        state.withLock { state in
            state.made -= 1
            state.turns.end(for: call.account)
        }
        signal.yield()
    }

    /// While there are waiters whose time is not over.
    private func watch() async {
        while (try? await sleep(Self.resolution)) != nil {
            let (time, now) = (ContinuousClock.now, clock.now())
            let (answered, isDone) = state.withLock { state in
                var answered: [(CheckedContinuation<Reply, Never>, Reply)] = []
                var isDone = true
                for (number, waiter) in state.waiters where !waiter.isOverdue {
                    if waiter.until > time {
                        isDone = false
                    } else if let answer = state.cache.overdue(number, of: waiter.key, at: now) {
                        state.waiters[number] = nil
                        answered.append((waiter.caller, .success(answer)))
                    } else {
                        state.waiters[number]?.isOverdue = true
                    }
                }
                state.isWatched = !isDone
                return (answered, isDone)
            }
            for (caller, reply) in answered { caller.resume(returning: reply) }
            if isDone { return }
        }
    }

    private func leave(_ number: UInt64, _ key: Cache.Key) {
        let waiter = state.withLock { state in
            state.cache.leave(number, of: key)
            return state.waiters.removeValue(forKey: number)
        }
        waiter?.caller.resume(returning: .failure(CancellationError()))
    }

    private func make(_ call: PendingCall) async {
        var context = call.context
        // The callers' deadlines end their waits, not the call.
        context?.deadline = .now + Self.longestCall
        do {
            let result = try await CallerIdentity.$current.withValue(call.account) {
                try await CallContext.$current.withValue(context) { try await call.perform() }
            }
            end(call.key, .answered(result, bytes: result.approximateBytes, age: result.age), nil)
        } catch let error as UpstreamFailure where error.kind == .cancelled && Task.isCancelled {
            end(call.key, .refused, unavailable("the gateway stops"))
        } catch {
            let failure = Failure(error, hasOwner: call.key.owner != nil)
            switch failure {
            case .failed(let token, let detail): end(call.key, .failed(detail: token), unavailable(detail))
            case .denied(let error): end(call.key, .denied, error)
            case .refused(let error): end(call.key, .refused, error)
            }
        }
    }

    private func end(_ key: Cache.Key, _ outcome: Cache.Outcome, _ error: PorticoError?) {
        let now = clock.now()
        let (ended, waiters, isNews) = state.withLock { state in
            let ended = state.cache.end(key, outcome, at: now)
            let before = state.failing
            switch outcome {
            case .answered: state.failing = nil
            case .failed(let detail): state.failing = detail
            case .denied, .refused: break
            }
            return (
                ended, ended.waiters.compactMap { state.waiters.removeValue(forKey: $0) }, state.failing != before
            )
        }
        if isNews { report(outcome, error) }
        let reply: Reply =
            ended.answer.map { .success($0) } ?? .failure(error ?? unavailable("the answer was too old when it came"))
        for waiter in waiters { waiter.caller.resume(returning: reply) }
        self.ended()
    }

    private func report(_ outcome: Cache.Outcome, _ error: PorticoError?) {
        let (name, upstream) = (LogValue.text(operation.text), LogValue.text(settings.upstream.text))
        guard case .failed = outcome else {
            return log.info("calls of another system are answered again", ["operation": name, "upstream": upstream])
        }
        log.warning(
            "calls of another system fail",
            ["operation": name, "upstream": upstream, "detail": .text(error?.logDetail ?? "")])
    }

    private func unavailable(_ detail: String) -> PorticoError {
        PorticoError(
            .adapterUnavailable,
            "The system \(settings.upstream) gives no answer that can be used, and none is kept that is recent enough.",
            target: operation.text, retryAfter: 5, logDetail: detail)
    }

    /// The statement that a thrown error makes about the other system.
    private enum Failure {
        case failed(token: String, detail: String)
        case denied(PorticoError)
        case refused(PorticoError)

        init(_ error: any Error, hasOwner: Bool) {
            switch error {
            case let refusal as MirrorRefusal: self = .failed(token: "upstream-failed", detail: refusal.detail)
            case let failure as UpstreamFailure:
                let detail = "\(failure.kind.rawValue): \(failure.detail)"
                switch failure.kind {
                case .signInRequired where hasOwner, .credentialsRefused where hasOwner: self = .denied(failure.asError)
                case .timedOut: self = .failed(token: "upstream-timeout", detail: detail)
                default: self = .failed(token: "upstream-failed", detail: detail)
                }
            case let error as PorticoError:
                let detail = error.logDetail ?? error.message
                switch error.code {
                case .loginRequired where hasOwner, .accessDenied where hasOwner: self = .denied(error)
                case .upstreamTimeout, .deadlineExceeded: self = .failed(token: "upstream-timeout", detail: detail)
                case .adapterUnavailable: self = .failed(token: Mirror.adapterIsUnavailable, detail: detail)
                case .upstreamFailed, .overloaded, .serverInternal:
                    self = .failed(token: "upstream-failed", detail: detail)
                default: self = .refused(error)
                }
            default: self = .failed(token: "upstream-failed", detail: "\(error)")
            }
        }
    }
}

extension CallContext {
    /// The part of a caller's time that is left for writing an answer.
    private static let answering = Duration.milliseconds(100)

    /// The time that a caller waits for what may come: `longest`, and no longer than until shortly before the deadline.
    static func waiting(_ longest: Duration, until deadline: ContinuousClock.Instant? = nil) -> Duration {
        guard let deadline = deadline ?? current?.deadline else { return longest }
        return min(longest, max(.zero, ContinuousClock.now.duration(to: deadline) - answering))
    }
}

extension OperationResult {
    fileprivate var approximateBytes: Int {
        switch content {
        case .nothing: 0
        case .value(let value): value.approximateBytes
        case .document(let bytes, _): bytes.count
        }
    }
}

extension WireValue {
    /// In memory, about.
    var approximateBytes: Int {
        var bytes = 32
        if let text = stringValue { bytes += text.utf8.count }
        for item in arrayValue ?? [] { bytes += item.approximateBytes }
        for entry in dictionaryValue?.entries ?? [] {
            bytes += 32 + entry.key.utf8.count + entry.value.approximateBytes
        }
        return bytes
    }
}
