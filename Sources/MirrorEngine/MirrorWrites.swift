import AdapterKit
import RecordStorage
import Synchronization

/// Sends the pending writes of one mirror: executes its ``PendingWrites`` over the store and the other system.
///
/// What is to be sent is in the store, written in the transaction of the change, so that it survives the process. A stop in
/// the middle of sending leaves a write of which it is unknown whether it was made. ``run()`` is the one task that sends.
public final class MirrorWrites: Sendable {
    /// Sends one change.
    public typealias Sending = @Sendable (MirrorChange) async throws -> MirrorWriteResult
    /// Sends in the context of the request whose caller waits, such as its trace.
    public typealias InContext =
        @Sendable (@Sendable () async throws -> MirrorWriteResult) async throws ->
        MirrorWriteResult
    /// Reads one record back.
    public typealias ReadingBack = @Sendable (RecordID) async throws -> MirrorRecord

    /// The time before its deadline at which a waiting caller is answered.
    static let grace = Duration.milliseconds(250)
    private static let finishInterval = Duration.milliseconds(20)
    private static let storePause = Duration.seconds(1)
    private static let page = 1_000

    /// The adapter's name and the entity's.
    public let id: CollectionID
    /// The adapter's declaration of the mirror.
    public let source: MirrorSource
    private let delivery: WriteDelivery
    /// Records and fields that a refresh of the mirror leaves as they are.
    let protection: RefreshProtection
    private let store: any Store
    private let clock: any WallClock
    private let random: @Sendable () -> Double
    private let sleep: @Sendable (Duration) async throws -> Void
    /// The pause of the task that runs.
    private let pause: InterruptibleSleep
    private let log: Log
    private let send: Sending
    private let readBack: ReadingBack
    private let captureContext: @Sendable () -> InContext
    private let state: Mutex<State>

    fileprivate struct Caller {
        let answer: CheckedContinuation<Result<WriteReceipt, PorticoError>, Never>
        let context: InContext
    }

    fileprivate struct State {
        var machine: PendingWrites
        /// The number up to which writes are another process's; nil: it was not asked for yet.
        var start: Int64?
        var loaded: Int64 = 0
        var seen: Revision?
        var callers: [RecordID: Caller] = [:]
        /// Writes that go without having been sent.
        var removals: [RecordID] = []
        /// ``run()`` has begun and not ended.
        var isRunning = false
        /// Nothing more is to be sent.
        var isFinishing = false
        var isStopped = false
    }

    /// `entities`: of the adapter. `protection`: that of all mirrors of the entity, one after the other; nil: there is no other. `random` gives numbers from 0 to 1. `captureContext` is called on the task of a caller that waits.
    public init(
        _ source: MirrorSource, of collection: CollectionDeclaration, among entities: [Entity] = [],
        in store: any Store, protection: RefreshProtection? = nil, clock: any WallClock,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, log: Log,
        captureContext: @escaping @Sendable () -> InContext = { { try await $0() } },
        send: @escaping Sending, readBack: @escaping ReadingBack
    ) {
        self.captureContext = captureContext
        id = collection.id
        delivery = WriteDelivery(
            of: collection, honoursKeys: source.honoursIdempotencyKeys, among: entities)
        self.protection = protection ?? RefreshProtection(of: collection.id)
        self.source = source
        self.store = store
        self.clock = clock
        self.random = random
        self.sleep = sleep
        pause = InterruptibleSleep(clock: clock, sleep: sleep)
        self.log = log
        self.send = send
        self.readBack = readBack
        state = Mutex(State(machine: PendingWrites(honoursKeys: source.honoursIdempotencyKeys)))
        store.observe(self) { writes, _ in writes.noteCommit() }
    }

    /// Writes that are still to be made, and writes that stay unknown.
    public var counts: (pending: Int, unknown: Int) {
        state.withLock { ($0.machine.pending, $0.machine.unknown) }
    }

    /// The number up to which writes are another process's: where the log is before the first one that a caller waits for
    /// here. ``Store/position`` may lag behind what the other process left.
    private func start() async throws -> Int64 {
        if let known = state.withLock({ $0.start }) { return known }
        let found = try await store.withReadSnapshot { $0.position.number }
        return state.withLock { state in
            let start = state.start ?? found
            state.start = start
            return start
        }
    }

    private func noteCommit() {
        let position = store.position(of: PendingWriteRecords.adapter)
        if state.withLock({ $0.seen != position }) { pause.interrupt() }
    }
}

extension MirrorWrites {
    /// Sends until the task is cancelled, or ``finish(within:)`` is called. To be called once.
    public func run() async {
        state.withLock { $0.isRunning = true }
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled, !state.withLock({ $0.isFinishing }) {
                await persistently { try await self.load() }
                await removeUnsent()
                let now = clock.now()
                switch state.withLock({ $0.machine.next(at: now) }) {
                case .send(let write):
                    group.addTask {
                        await self.deliver(write)
                        self.pause.interrupt()
                    }
                case .readBack(let write):
                    group.addTask {
                        await self.lookFor(write)
                        self.pause.interrupt()
                    }
                case .wait(let instant): await pause.run(until: instant)
                }
            }
        }
        let callers = state.withLock { state in
            (state.isStopped, state.isRunning) = (true, false)
            defer { state.callers = [:] }
            return Array(state.callers.values)
        }
        for caller in callers { caller.answer.resume(returning: .failure(outcomeUnknown)) }
    }

    /// Sends nothing more, and returns when what is being sent has ended, or after `limit`. What is still to be sent stays
    /// in the store, for the mirror that takes this one's place.
    public func finish(within limit: Duration) async {
        state.withLock { $0.isFinishing = true }
        pause.interrupt()
        let deadline = ContinuousClock.now + limit
        while state.withLock({ $0.isRunning }), .now < deadline,
            (try? await Task.sleep(for: Self.finishInterval)) != nil
        {}
    }

    /// Takes what was written since the last time. What a caller waits for is added by its caller.
    private func load() async throws {
        let start = try await start()
        while true {
            let position = store.position(of: PendingWriteRecords.adapter)
            guard let after = state.withLock({ $0.seen == position ? nil : $0.loaded }) else { return }
            let found = try await store.withReadSnapshot { [id] in
                try $0.pendingWrites(of: id, after: after, limit: Self.page)
            }
            state.withLock { state in
                for write in found where write.state != .refused {
                    let isOfAnotherProcess = write.position <= start
                    guard isOfAnotherProcess || !write.isThrough else { continue }
                    let isTaken = state.machine.take(
                        write, mayHaveBeenSent: mayHaveBeenSent(write), isOfAnotherProcess: isOfAnotherProcess)
                    if !isTaken { state.removals.append(write.id) }
                }
                state.loaded = found.last?.position ?? state.loaded
                if found.count < Self.page { state.seen = position }
            }
        }
    }

    /// A restored store may be older than what was sent since.
    private func mayHaveBeenSent(_ write: PendingWrite) -> Bool { write.wasSent || write.epoch != store.epoch.text }

    private func removeUnsent() async {
        for id in state.withLock({ $0.removals }) {
            await persistently { try await self.store.transact(weight: 2) { try $0.removePendingWrite(id) } }
            state.withLock { state in state.removals.removeAll { $0 == id } }
        }
    }

    private func deliver(_ id: RecordID) async {
        let delivery = delivery
        if delivery.namesOthers {
            let found = await persistently {
                try await self.store.withReadSnapshot { try delivery.waiting(id, in: $0) }
            }
            guard let found else { return }
            if let write = found {
                return await goOn(write, noteSent(id, .notMade), "a record that it names has no key yet")
            }
        }
        let found = await persistently {
            try await self.store.transact(weight: 1) { try delivery.begin(id, in: $0) }
        }
        guard let found else { return }
        guard let write = found else {
            _ = noteSent(id, .made)
            return
        }
        let result: MirrorWriteResult
        let change = write.sentChange(mayRepeat: source.honoursIdempotencyKeys)
        do {
            if let context = state.withLock({ $0.callers[id]?.context }) {
                result = try await context { [send] in try await send(change) }
            } else {
                result = try await send(change)
            }
        } catch { result = MirrorWriteResult(error) }
        switch result {
        case .stored(let fields?) where !delivery.isRow(fields, of: write.record):
            guard let id = delivery.newID(in: fields, of: write), await mayTake(id, write) else {
                return await lose(write, "the answer is another record")
            }
            await settle(write, as: id, stored: fields) { self.noteSent(write.id, .made) }
        case .stored(let fields): await settle(write, stored: fields) { self.noteSent(id, .made) }
        case .refused(let code, let message): await refuse(write, code, message)
        case .notMade(let detail):
            let message = "The system \(source.upstream) has not taken the change yet. It is sent again."
            await persistently {
                try await self.store.transact(weight: 2) { try delivery.requeue(write, detail, message, in: $0) }
            }
            await goOn(write, noteSent(id, .notMade), detail)
        case .unknown(let detail): await lose(write, detail)
        }
    }

    private func mayTake(_ id: RecordID, _ write: PendingWrite) async -> Bool {
        let delivery = delivery
        return await persistently { try await self.store.withReadSnapshot { try delivery.mayTake(id, write, in: $0) } }
            ?? false
    }

    private func lose(_ write: PendingWrite, _ detail: String) async {
        let delivery = delivery
        await persistently {
            try await self.store.transact(weight: 1) { try delivery.markLost(write, detail, in: $0) }
        }
        await goOn(write, noteSent(write.id, .unknown), detail)
    }

    private func goOn(_ write: PendingWrite, _ step: PendingWrites.Step, _ detail: String) async {
        switch step {
        case .giveUp:
            await persistently { try await self.store.transact(weight: 2) { try $0.removePendingWrite(write.id) } }
            resumeCaller(write.id, .failure(notMade(detail)))
        case .expire:
            await refuse(
                write, .upstreamFailed,
                "The system \(source.upstream) has not taken the change for \(Int(PendingWrites.longestWait / 86_400)) days."
            )
        case .staysUnknown: await leaveUnknown(write)
        case .settle, .refuse, .sendAgain, .readBack: break
        }
    }

    private func lookFor(_ id: RecordID) async {
        let found = await persistently { try await self.store.withReadSnapshot { try $0.pendingWrite(id) } }
        guard let found else { return }
        let record = found == nil ? .unavailable : await truth(of: found?.record)
        guard let write = found, write.change(mayRepeat: false).isMade(in: record) else {
            let (now, chance) = (clock.now(), random())
            let step = state.withLock { $0.machine.readBack(id, isMade: found == nil, at: now, random: chance) }
            if step == .staysUnknown, let write = found { await leaveUnknown(write) }
            return
        }
        var fields: WireDictionary?
        if case .found(let found) = record { fields = found }
        await settle(write, stored: fields) {
            let (now, chance) = (self.clock.now(), self.random())
            return self.state.withLock { $0.machine.readBack(id, isMade: true, at: now, random: chance) }
        }
    }

    @discardableResult
    private func noteSent(_ id: RecordID, _ outcome: PendingWrites.Sent) -> PendingWrites.Step {
        let (now, chance) = (clock.now(), random())
        return state.withLock { state in
            state.machine.noteSent(
                id, outcome, isAwaited: state.callers[id] != nil, at: now, random: chance)
        }
    }

    private func truth(of record: RecordID?) async -> MirrorRecord {
        guard let record, let truth = try? await readBack(record) else { return .unavailable }
        if case .found(let fields) = truth, !delivery.isRow(fields, of: record) { return .unavailable }
        return truth
    }
}

extension MirrorWrites {
    /// The write is made: the record becomes what the other system has, with what is still pending of it.
    /// `id`: that the record has there; nil: its own.
    private func settle(
        _ write: PendingWrite, as id: RecordID? = nil, stored: WireDictionary?, _ end: () -> PendingWrites.Step
    ) async {
        protection.note(write.record)
        if let id {
            protection.note(id)
            state.withLock { $0.machine.move(write.record, to: id) }
        }
        defer { state.withLock { $0.machine.noteMoved(write.record) } }
        let delivery = delivery
        let receipt = await persistently {
            try await self.store.transact(weight: 3) { try delivery.complete(write, stored: stored, in: $0) }
        }
        guard let receipt else { return }
        _ = end()
        resumeCaller(write.id, .success(receipt))
    }

    /// The write is refused for good: its record becomes what the other system has, and its author learns of it.
    private func refuse(_ write: PendingWrite, _ code: ErrorCode, _ message: String) async {
        // From here on no deadline answers the caller with something else.
        let caller = state.withLock { $0.callers.removeValue(forKey: write.id) }?.answer
        let isAwaited = caller != nil
        // A caller who named a state that is not there any more reads the one that is.
        let truth = isAwaited && code != .preconditionFailed ? .unavailable : await truth(of: write.record)
        protection.note(write.record)
        let delivery = delivery
        let done: Void? = await persistently {
            try await self.store.transact(weight: 3) {
                try delivery.refuse(write, code, message, isAwaited: isAwaited, truth: truth, in: $0)
            }
        }
        guard done != nil else {
            caller?.resume(returning: .failure(outcomeUnknown))
            return
        }
        _ = noteSent(write.id, .refused)
        log.warning(
            "write refused by another system",
            [
                "mirror": .text("\(self.id)"), "upstream": .text(source.upstream.text), "write": .text(write.id.text),
                "code": .text(code.rawValue),
            ])
        caller?.resume(returning: .failure(PorticoError(code, message)))
    }

    private func leaveUnknown(_ write: PendingWrite) async {
        let (delivery, message) = (delivery, outcomeUnknown.message)
        await persistently {
            try await self.store.transact(weight: 1) { try delivery.markUnknown(write.id, message, in: $0) }
        }
        log.warning(
            "outcome of a write is unknown",
            [
                "mirror": .text("\(self.id)"), "upstream": .text(source.upstream.text), "write": .text(write.id.text),
            ])
        resumeCaller(write.id, .failure(outcomeUnknown))
    }

    /// Until it succeeds; nil where the task is cancelled.
    @discardableResult
    private func persistently<Result>(_ body: () async throws -> Result) async -> Result? {
        var isReported = false
        while !Task.isCancelled {
            do { return try await body() } catch {
                guard !Task.isCancelled else { return nil }
                if !isReported {
                    log.error(
                        "pending writes cannot be stored", ["mirror": .text("\(id)"), "detail": .text("\(error)")])
                }
                isReported = true
                try? await sleep(Self.storePause)
            }
        }
        return nil
    }
}

extension MirrorWrites: WriteThrough {
    public func write(
        _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
    ) async throws -> WriteReceipt {
        _ = try await start()
        let write = try await store.transact(weight: 3) { transaction in
            let id = try propose(transaction)
            guard let write = try transaction.pendingWrite(id) else {
                throw PorticoError(.serverInternal, "The pending write is not there after it was written.")
            }
            return write
        }
        return try await withTaskGroup(of: Void.self) { group in
            if let deadline = CallContext.current?.deadline {
                group.addTask {
                    if (try? await Task.sleep(until: deadline - Self.grace, clock: .continuous)) != nil {
                        self.abandon(write.id)
                    }
                }
            }
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { caller in
                    begin(write, Caller(answer: caller, context: captureContext()))
                }
            } onCancel: {
                abandon(write.id)
            }
            group.cancelAll()
            // The task that removes what was not sent has ended.
            if state.withLock({ $0.isStopped }) { await removeUnsent() }
            return result
        }.get()
    }

    private func begin(_ write: PendingWrite, _ caller: Caller) {
        let isLate = Task.isCancelled
        let begins = state.withLock { state in
            guard !state.isStopped, !isLate else {
                state.removals.append(write.id)
                return false
            }
            state.callers[write.id] = caller
            state.machine.add(
                write.id, of: write.record, by: write.author, at: write.position, isThrough: true,
                created: write.created)
            return true
        }
        if !begins { caller.answer.resume(returning: .failure(notMade(nil))) }
        pause.interrupt()
    }

    private func abandon(_ id: RecordID) {
        let (caller, isUnsent) = state.withLock { state -> (Caller?, Bool) in
            guard let caller = state.callers.removeValue(forKey: id) else { return (nil, false) }
            let isUnsent = state.machine.abandon(id)
            if isUnsent { state.removals.append(id) }
            return (caller, isUnsent)
        }
        caller?.answer.resume(returning: .failure(isUnsent ? notMade("the deadline passed") : outcomeUnknown))
        if isUnsent { pause.interrupt() }
    }

    private func resumeCaller(_ id: RecordID, _ result: Result<WriteReceipt, PorticoError>) {
        state.withLock { $0.callers.removeValue(forKey: id) }?.answer.resume(returning: result)
    }

    private func notMade(_ detail: String?) -> PorticoError {
        PorticoError(
            .upstreamFailed, "The system \(source.upstream) could not be asked. Nothing was changed.", retryAfter: 5,
            logDetail: detail)
    }

    private var outcomeUnknown: PorticoError {
        PorticoError(
            .upstreamOutcomeUnknown, "It is unknown whether the system \(source.upstream) has made the change.")
    }
}

extension MirrorWrites {
    /// Has a write sent again that an operator names. Throws `record.notFound`, and `record.conflict` for one under way.
    public func retry(_ id: RecordID) async throws {
        let write = try await pending(id)
        if write.state != .pending {
            let delivery = delivery
            try await store.transact(weight: 3) { try delivery.retry(write, in: $0) }
        }
        let begins = state.withLock { state in
            if state.machine.contains(id) { return state.machine.retry(id) }
            state.machine.add(
                id, of: write.record, by: write.author, at: write.position, isThrough: write.isThrough)
            return true
        }
        guard begins else { throw PorticoError(.recordConflict, "The write is under way.") }
        pause.interrupt()
    }

    /// Removes a write that an operator names; its record becomes what the other system has. Throws `record.notFound`, and
    /// `record.conflict` for one under way.
    public func drop(_ id: RecordID) async throws {
        let write = try await pending(id)
        guard state.withLock({ $0.machine.drop(id) }) else {
            throw PorticoError(.recordConflict, "The write is under way.")
        }
        let truth = write.state == .refused ? .unavailable : await truth(of: write.record)
        protection.note(write.record)
        let delivery = delivery
        try await store.transact(weight: 3) { try delivery.drop(write, truth: truth, in: $0) }
        resumeCaller(id, .failure(write.wasSent ? outcomeUnknown : notMade("dropped by an operator")))
        pause.interrupt()
    }

    private func pending(_ id: RecordID) async throws -> PendingWrite {
        let found = try await store.withReadSnapshot { try $0.pendingWrite(id) }
        guard let found, found.collection == self.id else {
            throw PorticoError(.recordNotFound, "There is no write of this id.")
        }
        return found
    }
}
