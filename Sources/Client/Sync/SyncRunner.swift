import ReplicaStorage
import SyncDevice
import SyncMessages

/// Executes a device's machine: makes durable what is to be durable, sends what is to be sent, and tells the app. It
/// decides nothing by itself.
///
/// Each step is done before the next one begins: the actor runs on a thread of its own and waits there for the disk. Where
/// the disk fails, the machine is made anew from what is stored, as after a crash.
actor SyncRunner {
    private let queue = SerialQueue(label: "portico.replica")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    let database: ReplicaDatabase
    let server: SyncServer
    let attachments: AttachmentStore
    let signals: ChangeSignals
    let clock: any Clock<Duration>
    let limits: DeviceLimits
    let makeClientID: @Sendable () -> String
    nonisolated let status = Latest(SyncStatus())
    nonisolated let checkpoint = Latest<String?>(nil)

    var device: Device
    /// Grows when the machine is made anew: answers to an earlier one are nobody's.
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
        _ database: ReplicaDatabase, _ server: SyncServer, _ attachments: AttachmentStore, _ signals: ChangeSignals,
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

    func resolve(_ number: Int64, with edit: LocalEdit?) throws {
        try step(edit.map { [$0.key] } ?? []) { $0.resolve(number, with: edit) }
    }

    func pulled(_ number: RequestNumber, _ reply: PullReply) throws {
        let before = device.state.outbox
        try step(before.touchedKeys, alsoAfter: true) { $0.pulled(number, reply) }
    }

    func pushed(_ number: RequestNumber, _ reply: PushReply) throws {
        let before = device.state.outbox
        try step(reply.settledKeys(in: before)) { $0.pushed(number, reply) }
    }

    /// A step whose failure is in the status, because nobody waits for it.
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
            if let refusal { throw ClientError(refusal) }
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
        signals.changed(step.collections)
    }
}
