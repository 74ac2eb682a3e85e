import SyncDevice

/// What the app is told.
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
