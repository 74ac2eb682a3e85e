import ReplicaStorage
import SyncDevice

/// What becomes of the runner where the disk fails, or the device needs another name.
extension SyncRunner {
    /// What is in memory is ahead of what is stored, so it counts no more.
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
            clientID: makeClientID(), outbox: old.outbox, rows: old.rows, checkpoint: old.checkpoint)
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
