import AdapterKit
import RecordStorage
import SyncDevice

extension Simulation {
    /// One thing that a caller does, or that befalls a caller.
    mutating func operate() async throws {
        let device = random.below(devices.count)
        switch random.below(106) {
        case 0..<45: try edit(device)
        case 45..<57: perform(device) { $0.sync() }
        case 57..<62: resolve(device)
        case 62..<67: turn(device)
        case 67..<69: crash(device)
        case 69..<70: try restartServer()
        case 70..<72: devices[device].isSignedOut = true
        case 72..<75: signIn(device)
        case 75..<82 where features.hasGrants: try await changeMembers()
        case 82..<87 where features.hasGrants: try await share()
        case 87..<90 where features.hasCompactions: try await compact()
        case 90..<92: try backUp()
        case 92..<93 where features.hasRestores: try restore()
        case 93..<95: jump()
        case 95..<100 where features.hasLeaps: try await leap()
        case 100..<103 where features.hasGrants: changeRoles()
        case 103...: toggleWatcher()
        default: try edit(device)
        }
    }

    private mutating func turn(_ device: Int) {
        devices[device].isOnline.toggle()
        trace.add("d\(device) is \(devices[device].isOnline ? "online" : "offline")")
        if devices[device].isOnline { perform(device) { $0.sync() } }
    }

    private mutating func crash(_ device: Int) {
        devices[device].restart()
        trace.add("d\(device) crashes")
        perform(device) { $0.sync() }
    }

    mutating func signIn(_ device: Int) {
        guard devices[device].isSignedOut || devices[device].machine.isPaused else { return }
        devices[device].isSignedOut = false
        trace.add("d\(device) signs in")
        perform(device) { $0.signedIn() }
    }

    /// A new process over the same image.
    mutating func restart() throws {
        try server.restart()
        cutAll()
    }

    private mutating func restartServer() throws {
        try restart()
        collected.count("server restarts")
        trace.add("server restarts")
    }

    private mutating func changeMembers() async throws {
        guard let room = random.pick(SimulatedAdapter.roomIDs) else { return }
        let members = SimulatedAdapter.people.filter { _ in random.chance(60) }
        trace.add("\(room) has the members \(members)")
        let fields: WireDictionary = ["members": .array(members.map(WireValue.string))]
        try await server.change(RecordChange("rooms", .update(RecordID(unchecked: room), fields)))
        try await announceChanges()
    }

    private mutating func share() async throws {
        let notes = server.ledger.rows.keys.filter { $0.collection == "notes" }.sorted()
        guard let note = random.pick(notes) else { return }
        let people = SimulatedAdapter.people.filter { _ in random.chance(50) }
        trace.add("\(note.id) is shared with \(people)")
        let fields: WireDictionary = ["sharedWith": .array(people.map(WireValue.string))]
        try await server.change(RecordChange("notes", .update(RecordID(unchecked: note.id), fields)))
        try await announceChanges()
    }

    /// With the roles go the credentials that had them, and so the streams that were opened with those.
    private mutating func changeRoles() {
        guard let person = random.pick(SimulatedAdapter.people) else { return }
        server.roles[person] = server.roles[person]?.isEmpty == false ? [] : [SimulatedAdapter.auditor]
        collected.count("role changes")
        trace.add("\(person) has the roles \(server.roles[person]?.map(\.text) ?? [])")
        for watcher in watchers.indices where watchers[watcher].person == person { cut(watcher) }
    }

    /// By the window, as the server does by itself, or at once, as an operator may.
    private mutating func compact() async throws {
        let window = Double(SimulatedTime.offlineWindow / SimulatedTime.second)
        let bound =
            random.chance(80)
            ? CompactionBound.before(
                WireDate(secondsSinceReferenceDate: clock.now().secondsSinceReferenceDate - window))
            : .through(Revision(Int64(random.below(Int(server.ledger.position) + 1))))
        let done = try await server.compact(bound)
        if done.entries > 0 { collected.count("compactions") }
        trace.add("compaction up to \(done.floor): \(done.entries) entries, \(done.outcomes) outcomes")
    }

    private mutating func backUp() throws {
        try server.backUp()
        trace.add("backup at \(server.ledger.position)")
    }

    private mutating func restore() throws {
        guard let backup = random.pick(server.backups) else { return }
        server.restore(backup)
        cutAll()
        toldOutcomes = [:]
        collected.count("restores")
        trace.add("restore to \(backup.position)")
    }

    private mutating func jump() {
        let days = random.below(9) - 4
        clock.jump(by: days * SimulatedTime.day)
        trace.add("the server's clock jumps by \(days) days")
    }

    private mutating func leap() async throws {
        let span = random.chance(50) ? random.below(SimulatedTime.hour) : random.below(40 * SimulatedTime.day)
        trace.add("\(span / SimulatedTime.second) seconds go by")
        try await pass(milliseconds: span)
    }
}

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
        repeat {
            try await announceChanges()
            while let time = queue.nextTime, let event = queue.next() {
                clock.advance(to: time)
                try await handle(event)
                events += 1
                guard events < Self.eventsOfARound else { throw Violation(4, "the devices never come to rest") }
            }
        } while server.catchUp()
    }

    /// No caller asks for them, so the caller that was not woken must have missed nothing.
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
