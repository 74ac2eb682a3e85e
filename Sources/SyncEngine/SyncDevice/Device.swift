import SyncMessages
import ValueTree

/// A device's side of the sync, as one synchronous machine: what happens goes in, what is to be done comes out.
///
/// Whoever runs it carries the actions out in their order. A crash loses what is not persisted, and nothing else: a
/// machine made from the persisted state goes on, and whatever it sends twice has one effect.
public struct Device: Sendable {
    public internal(set) var state: DeviceState
    let limits: DeviceLimits
    var pull: PullProgress
    var push = PushProgress()
    private var lastRequest = 0
    /// Until the app has signed in again.
    public internal(set) var isPaused = false
    var actions: [DeviceAction] = []

    public init(restoring state: DeviceState, limits: DeviceLimits = DeviceLimits()) {
        self.state = state
        self.limits = limits
        pull = PullProgress(replica: Replica(limits: limits))
    }

    /// Takes an edit, lays it over the replica and sends it when it can.
    public mutating func edit(_ edit: LocalEdit) throws(EditError) -> [DeviceAction] {
        guard state.outbox.pending.count < limits.pendingEdits else { throw .outboxFull }
        let exists = state[edit.key] != nil
        if edit.operation == .create, exists { throw .recordExists }
        if edit.operation != .create, !exists { throw .recordNotFound }
        note(.edited(state.outbox.draft(edit, on: state.rows[edit.key])))
        return stepped { $0.startPush() }
    }

    /// Brings the device up to date: to be called at the start, when the network is back, on a live event, now and then.
    public mutating func sync() -> [DeviceAction] {
        stepped {
            $0.pull.isWanted = true
            $0.startPull()
            $0.startPush()
        }
    }

    /// The time of a ``DeviceAction/wake(after:)`` is over.
    public mutating func wake() -> [DeviceAction] {
        stepped {
            $0.pull.isWaiting = false
            $0.push.isWaiting = false
            $0.startPull()
            $0.startPush()
        }
    }

    /// There are new credentials. What was asked with the old ones is asked again: its answers are worth nothing now.
    public mutating func signedIn() -> [DeviceAction] {
        isPaused = false
        pull.asked = nil
        push.asked = nil
        return sync()
    }

    /// What ``PersistedRows`` keep has been stored up to the last entry that was to be persisted.
    public mutating func rowsAreStored() {
        state.forgetStoredRows()
    }

    /// The piece of the last ``DeviceAction/stage(_:)`` is where the rows are kept.
    public mutating func pieceIsStaged() {
        guard let kept = state.rows.kept else { return }
        pull.replica.areStaged(by: kept)
    }

    /// Ends a conflict or a rejection: `edit` is what the app wants instead, made on the server's copy; nil: nothing.
    public mutating func resolve(_ number: Int64, with edit: LocalEdit?) -> [DeviceAction] {
        guard let found = state.outbox.setAside.first(where: { $0.pending.number == number }) else { return [] }
        var row = state.rows[found.pending.edit.key]
        if case .conflict(let copy) = found.cause { row = copy }
        note(.resolved(number, edit.map { state.outbox.draft($0, on: row) }))
        return stepped { $0.startPush() }
    }
}

extension Device {
    /// Changes the state by what is made durable, and by nothing else.
    mutating func note(_ entry: JournalEntry) {
        state.apply(entry)
        actions.append(.persist(entry))
    }

    mutating func nextRequest() -> RequestNumber {
        lastRequest += 1
        return RequestNumber(lastRequest)
    }

    mutating func pauseForSignIn() {
        guard !isPaused else { return }
        isPaused = true
        actions.append(.report(.signInNeeded))
    }

    mutating func stepped(_ step: (inout Device) -> Void) -> [DeviceAction] {
        step(&self)
        defer { actions = [] }
        return actions
    }
}
