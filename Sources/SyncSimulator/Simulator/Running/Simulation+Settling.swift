import SyncDevice

extension Simulation {
    private static let rounds = 12
    private static let eventsOfARound = 50_000

    /// The faults stop. Without another edit, every outbox drains and every device gets what there is.
    mutating func settle() async throws {
        faults = .none
        trace.add("the faults stop")
        for device in devices.indices {
            devices[device].isOnline = true
            signIn(device)
        }
        for watcher in watchers.indices where !watchers[watcher].isOn {
            watchers[watcher].isOn = true
            connect(watcher)
        }
        for _ in 0..<Self.rounds {
            for device in devices.indices { perform(device) { $0.sync() } }
            try await drain()
            try checkScreens()
            if devices.indices.allSatisfy(isSettled) { return }
        }
        let behind = devices.indices.filter { !isSettled($0) }
        throw Violation(4, "not settled: \(behind.map(describe))")
    }

    private mutating func drain() async throws {
        var events = 0
        while let time = queue.nextTime, let event = queue.next() {
            clock.advance(to: time)
            try await handle(event)
            events += 1
            guard events < Self.eventsOfARound else { throw Violation(4, "the devices never come to rest") }
        }
    }

    /// Nobody asks for them, so whoever was not woken must have missed nothing.
    private func checkScreens() throws {
        for (number, watcher) in watchers.enumerated() {
            let sees = server.oracle.visible(to: watcher.person)
            guard watcher.rows != sees else { continue }
            let wrong = Set(sees.keys).union(watcher.rows.keys).filter { sees[$0] != watcher.rows[$0] }
            throw Violation(
                4,
                "the screen w\(number) of \(watcher.person) is behind with \(wrong.sorted().map(\.id)), and nothing comes"
            )
        }
    }

    private func isSettled(_ device: Int) -> Bool {
        devices[device].machine.state.outbox.pending.isEmpty
            && devices[device].machine.state.outbox.acknowledged.isEmpty
            && devices[device].rows == server.oracle.visible(to: devices[device].person)
    }

    private func describe(_ device: Int) -> String {
        let has = devices[device].rows
        let sees = server.oracle.visible(to: devices[device].person)
        let missing = sees.filter { has[$0.key] != $0.value }.keys.sorted().map(\.id)
        let extra = has.filter { sees[$0.key] == nil }.keys.sorted().map(\.id)
        let outbox = devices[device].machine.state.outbox
        return """
            d\(device) of \(devices[device].person) lacks \(missing), has \(extra) too, \
            \(outbox.pending.count) edits wait, \(outbox.acknowledged.count) are not read back
            """
    }
}
