import ReplicaStorage
import SyncDevice
import SyncMessages
import ValueTree

/// Executes a device's machine: makes durable what is to be durable, sends what is to be sent, and notifies the app. It
/// decides nothing by itself.
///
/// Each step is done before the next one begins: the actor runs on a thread of its own and waits there for the disk. Where
/// the disk fails, the machine is made anew from what is stored, as after a crash.
actor SyncRunner {
    private let queue = SerialQueue(label: "portico.replica")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    let database: ReplicaDatabase
    let server: SyncServer
    let attachments: ReplicaAttachmentStore
    let signals: ChangeSignals
    let clock: any Clock<Duration>
    let limits: DeviceLimits
    let makeClientID: @Sendable () -> String
    nonisolated let status = LatestValue(SyncStatus())
    nonisolated let checkpoint = LatestValue<String?>(nil)
    nonisolated let moved = LatestValue<[MovedRecord]>([])

    var device: Device
    /// Grows when the machine is made anew: answers to an earlier one are no one's.
    var generation = 0
    var broken: ClientError?
    var isRunning = false
    /// Running for a time that is given, without alarms.
    var isBounded = false
    /// The machine waits to be woken.
    var isResting = false
    var isClosed = false
    var hasNewClientID = false
    var exchanges: [RequestNumber: Task<Void, Never>] = [:]
    var alarm: Task<Void, Never>?
    var live: Task<Void, Never>?
    var progress = SyncStatus()

    /// - Throws: `ClientError.storage`.
    init(
        _ database: ReplicaDatabase, _ server: SyncServer, _ attachments: ReplicaAttachmentStore,
        _ signals: ChangeSignals,
        _ limits: DeviceLimits, clock: any Clock<Duration>, makeClientID: @escaping @Sendable () -> String
    ) throws {
        (self.database, self.server, self.attachments, self.signals) = (database, server, attachments, signals)
        (self.limits, self.clock, self.makeClientID) = (limits, clock, makeClientID)
        let state = try storing { try database.state(newClientID: makeClientID) }
        device = Device(restoring: state, limits: limits)
        status.set(Self.summary(SyncStatus(), device.state))
        checkpoint.set(device.state.checkpoint)
    }

    var collections: [String]? { limits.collections }

    /// Takes an edit; it is durable when this returns.
    ///
    /// - Returns: the edit's number on this device.
    func edit(_ edit: LocalEdit) throws -> Int64 {
        try step([edit.key]) { device throws(EditError) in try device.edit(edit) }
        return device.state.outbox.pending.last?.number ?? 0
    }

    /// The id that the fields of a new record give it; nil where they give none.
    func id(in fields: WireDictionary, of collection: String) -> String? {
        device.state.known?[collection]?.id(in: fields)
    }

    func resolve(_ number: Int64, with edit: LocalEdit?) throws {
        try step(edit.map { [$0.key] } ?? []) { device throws(EditError) in
            if let edit { try device.check(edit) }
            return device.resolve(number, with: edit)
        }
    }

    func finishPull(_ number: RequestNumber, _ reply: PullReply) throws {
        let before = device.state.outbox
        try step(before.touchedKeys, alsoAfter: true) { $0.pulled(number, reply) }
    }

    func finishPush(_ number: RequestNumber, _ reply: PushReply) throws {
        let before = device.state.outbox
        try step(reply.settledKeys(in: before)) { $0.pushed(number, reply) }
    }

    /// A step whose failure is in the status, because no one waits for it.
    func quietly(_ body: (inout Device) -> [DeviceAction]) {
        _ = try? step([], body)
    }

    /// - Parameter touched: records that may look different after it.
    private func step(
        _ touched: Set<RecordKey>, alsoAfter: Bool = false,
        _ body: (inout Device) throws(EditError) -> [DeviceAction]
    ) throws {
        try heal()
        var actions: [DeviceAction] = []
        var refusal: EditError?
        do throws(EditError) { actions = try body(&device) } catch { refusal = error }
        do {
            // What could not be read may be the reason of a refusal.
            if let failure = database.takeFailure() { throw failure }
            if let refusal { throw ClientError(refusal, touched.first?.collection ?? "") }
            let after = alsoAfter ? touched.union(device.state.outbox.touchedKeys) : touched
            try persist(actions, after)
        } catch let error as ClientError {
            throw error
        } catch {
            throw breakDown(error)
        }
        for action in actions { carryOut(action) }
        // Last, so that the next page is on its way meanwhile.
        do { try stage(actions) } catch { throw breakDown(error) }
        publish()
    }

    private func stage(_ actions: [DeviceAction]) throws {
        for case .stage(let piece) in actions {
            try database.stage(piece)
            device.pieceIsStaged()
        }
    }

    private func persist(_ actions: [DeviceAction], _ touched: Set<RecordKey>) throws {
        let entries = actions.compactMap { action in
            if case .persist(let entry) = action { entry } else { nil }
        }
        guard !entries.isEmpty else { return }
        // All entries of a step at once: earlier than they have to be is no harm.
        let step = PersistedStep(entries: entries, state: device.state, touched: touched)
        try database.persist(step)
        if !step.pulls.isEmpty { device.rowsAreStored() }
        signals.noteChange(step.collections)
    }
}

/// Exchanges over the network, each in a task that this runner owns and cancels.
extension SyncRunner {
    func carryOut(_ action: DeviceAction) {
        switch action {
        case .persist, .stage: break
        case .pull(let number, let request): start(number) { await $0.pull(number, request, of: $1) }
        case .push(let number, let request): start(number) { await $0.push(number, request, of: $1) }
        case .wake(let pause): setAlarm(after: pause)
        case .report(let report): take(report)
        }
    }

    private func take(_ report: DeviceReport) {
        switch report {
        case .pulled: (progress.received, progress.lastError) = (nil, nil)
        case .pushRefused(let code):
            progress.lastError = .refused(Refusal(status: 400, code: code, message: "A push was refused."))
        case .scopesDisagree(let scopes):
            progress.lastError = .unreadableAnswer("checksums disagree: \(scopes.joined(separator: ", "))")
        case .moved(let moves):
            let found = moves.map { MovedRecord(collection: $0.key.collection, id: $0.key.id, movedTo: $0.value) }
            let all = moved.value + found.sorted { $0.id < $1.id }
            moved.set(Array(all.suffix(MovedRecord.mostKept)))
        case .settled, .signInNeeded: break
        }
    }

    private func start(_ number: RequestNumber, _ work: @escaping @Sendable (SyncRunner, Int) async -> Void) {
        let generation = generation
        guard isRunning else {
            // Answered as if there were no network: the machine waits until it is woken.
            exchanges[number] = Task { self.passOver(number, generation) }
            return
        }
        exchanges[number] = Task { await work(self, generation) }
    }

    private func passOver(_ number: RequestNumber, _ generation: Int) {
        guard generation == self.generation else { return }
        exchanges[number] = nil
        _ = try? finishPull(number, .unavailable)
        _ = try? finishPush(number, .unavailable)
    }

    private func pull(_ number: RequestNumber, _ request: PullRequest, of generation: Int) async {
        let (reply, error) = await server.pull(request)
        guard generation == self.generation else { return }
        exchanges[number] = nil
        progress.lastError = Task.isCancelled ? nil : error
        if case .page(let page) = reply { progress.received = (progress.received ?? 0) + page.operations.count }
        _ = try? finishPull(number, reply)
    }

    private func push(_ number: RequestNumber, _ request: PushRequest, of generation: Int) async {
        var result = SyncServer.PushResult.reply(.unavailable, nil)
        do {
            // A record may name them.
            try await attachments.upload()
            result = await server.push(request)
        } catch {
            let error = ClientError(meaning: error)
            result = .reply(error.endsSignIn ? .unauthorized : .unavailable, error)
        }
        guard generation == self.generation else { return }
        exchanges[number] = nil
        takePushReply(number, result)
    }

    private func takePushReply(_ number: RequestNumber, _ result: SyncServer.PushResult) {
        switch result {
        case .reply(let reply, let error):
            progress.lastError = Task.isCancelled ? nil : error
            _ = try? finishPush(number, reply)
        case .clientIsForeign(let error):
            progress.lastError = error
            // Once: a second refusal has another reason.
            guard !hasNewClientID, (try? replaceClientID()) != nil else {
                _ = try? finishPush(number, .unavailable)
                return
            }
            publish()
        }
    }

    /// One alarm at a time, the earliest: whatever waits is tried again when it rings.
    func setAlarm(after pause: Duration) {
        isResting = true
        guard alarm == nil, isRunning, !isBounded else { return }
        alarm = Task { [clock] in
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            self.ring()
        }
    }

    private func ring() {
        alarm = nil
        isResting = false
        quietly { $0.wake() }
    }
}

/// Steps of the runner where the disk fails, or the device needs another name.
extension SyncRunner {
    /// Drops what is in memory: it is ahead of what is stored, so it counts no more.
    func breakDown(_ error: any Error) -> ClientError {
        let found = ClientError.storage("\(error)")
        broken = found
        cancelExchanges()
        progress.lastError = found
        // Not at once: a full disk would have everything pulled again and again.
        setAlarm(after: .seconds(10))
        publish()
        return found
    }

    func heal() throws {
        guard !isClosed else { throw ClientError.closed }
        guard broken != nil else { return }
        _ = database.takeFailure()
        let state = try storing { try database.state(newClientID: makeClientID) }
        if let failure = database.takeFailure() { throw ClientError.storage("\(failure)") }
        restart(state)
    }

    private func restart(_ state: DeviceState) {
        generation += 1
        broken = nil
        cancelExchanges()
        device = Device(restoring: state, limits: limits)
        for action in device.sync() { carryOut(action) }
    }

    /// The same edits under another client id.
    func replaceClientID() throws {
        let old = device.state
        let state = DeviceState(
            clientID: makeClientID(), outbox: old.outbox, rows: old.rows, checkpoint: old.checkpoint, known: old.known)
        try storing { try database.save(state) }
        hasNewClientID = true
        restart(state)
    }

    func cancelExchanges() {
        for exchange in exchanges.values { exchange.cancel() }
        exchanges = [:]
        alarm?.cancel()
        alarm = nil
    }
}

/// When the runner may use the network.
extension SyncRunner {
    /// From now on everything happens by itself.
    func start(isLive: Bool) {
        guard !isRunning || isBounded, !isClosed else { return }
        (isRunning, isBounded) = (true, false)
        retry()
        if isLive { startLive() }
    }

    /// From now on nothing is sent. Edits are taken all the same.
    func pause() {
        (isRunning, isBounded) = (false, false)
        live?.cancel()
        live = nil
        cancelExchanges()
        publish()
    }

    /// Tries now what would be tried later.
    func retry() {
        alarm?.cancel()
        alarm = nil
        isResting = false
        quietly { $0.wake() }
        quietly { $0.sync() }
    }

    func signedIn() {
        quietly { $0.signedIn() }
        guard live != nil else { return }
        live?.cancel()
        startLive()
    }

    func close() {
        pause()
        isClosed = true
        publish()
        status.finish()
        checkpoint.finish()
        moved.finish()
        signals.close()
    }

    /// Runs until there is nothing more to do, the last try got no answer, or the time is over.
    func run(within time: Duration) async -> SyncStatus {
        let wasRunning = isRunning
        // What fails is not tried again in the time that there is: anyone who asks decides.
        isBounded = !wasRunning
        isRunning = true
        retry()
        _ = try? await withDeadline(time, clock: clock) { [status] in
            for await present in status.follow() where present.phase != .working { return }
        }
        if isBounded { pause() }
        return status.value
    }
}

/// Asks for changes all the time, one question after another, and pulls when there are some.
extension SyncRunner {
    private func startLive() {
        live = Task { await self.listen() }
    }

    private func listen() async {
        var failures = 0
        while !Task.isCancelled, isRunning {
            guard let known = checkpoint.value else {
                await waitForAnother(than: nil, atMost: .seconds(60))
                continue
            }
            do {
                let hasNews = try await server.hasNews(after: known, collections: collections)
                failures = 0
                guard hasNews, !Task.isCancelled else { continue }
                quietly { $0.sync() }
                await waitForAnother(than: known, atMost: .seconds(30))
            } catch {
                // Pulls say what is wrong; this only asks again, later and later.
                failures += 1
                _ = try? await clock.sleep(for: min(.seconds(300), .seconds(1 << min(failures, 9))))
            }
        }
    }

    private func waitForAnother(than known: String?, atMost time: Duration) async {
        _ = try? await withDeadline(time, clock: clock) { [checkpoint] in
            for await present in checkpoint.follow() where present != known { return }
        }
    }
}

/// The status that the app sees.
extension SyncRunner {
    func publish() {
        checkpoint.set(device.state.checkpoint)
        progress = Self.summary(progress, device.state)
        progress.phase = phase
        if exchanges.isEmpty { progress.received = nil }
        status.set(progress)
    }

    private var phase: SyncStatus.Phase {
        if isClosed { return .closed }
        if device.isPaused { return .signInNeeded }
        if !exchanges.isEmpty { return .working }
        return isResting ? .waiting : .idle
    }

    static func summary(_ status: SyncStatus, _ state: DeviceState) -> SyncStatus {
        var status = status
        status.hasSynced = state.checkpoint != nil || !state.rows.collections.isEmpty
        status.waiting = state.outbox.pending.count
        if status.problems.map(\.id) != state.outbox.setAside.map(\.pending.number) {
            status.problems = state.outbox.setAside.map(SyncProblem.init)
        }
        return status
    }
}
