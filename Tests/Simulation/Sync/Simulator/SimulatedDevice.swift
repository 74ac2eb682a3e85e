import ReplicaStorage
import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

/// A device of a run: its machine, what is durable of it, and its circumstances.
struct SimulatedDevice {
    /// Where a device has its rows: in memory, elsewhere, or in the file that an app has them in, where everything else
    /// is that it must not forget.
    enum Keeping {
        case memory
        case rowStore(PersistedRowStore)
        case file(ReplicaFile)
    }

    let person: String
    let clientID: String
    /// Each device speaks one format.
    let format: any WireFormat
    let limits: DeviceLimits
    let keeping: Keeping
    var machine: Device
    /// The fold of what was persisted: what a crash leaves.
    private(set) var durable: DeviceState
    /// A start that found something else than what was persisted.
    private(set) var foundOther = false
    /// Counts its processes; answers to an earlier one are lost with it.
    private(set) var process = 0
    var isOnline = true
    /// The server refuses its credentials.
    var isSignedOut = false
    var editsMade = 0

    init(_ number: Int, person: String, format: any WireFormat, limits: DeviceLimits, keeping: Keeping) {
        (self.person, self.format, self.limits, self.keeping) = (person, format, limits, keeping)
        clientID = "d\(number)"
        durable = DeviceState(clientID: clientID)
        machine = Device(restoring: durable, limits: limits)
        machine = Device(restoring: kept, limits: limits)
    }

    var isInFile: Bool {
        if case .file = keeping { true } else { false }
    }

    /// What a process finds at its start.
    private var kept: DeviceState {
        switch keeping {
        case .memory: durable
        case .rowStore(let rowStore):
            DeviceState(
                clientID: clientID, outbox: durable.outbox, rows: ReplicaRows(keptBy: rowStore),
                checkpoint: durable.checkpoint)
        case .file(let file): file.state(clientID)
        }
    }

    /// Whether what a crash would leave is what the device has, and what the app sees of it.
    var isDurable: Bool {
        switch keeping {
        case .memory: machine.state == durable
        case .rowStore: isDurable(machine.state)
        case .file(let file): !foundOther && isDurable(machine.state) && isShown(by: file) && file.isWell
        }
    }

    private func isDurable(_ state: DeviceState) -> Bool {
        state.outbox == durable.outbox && state.checkpoint == durable.checkpoint
            && state.rows.collections == durable.rows.collections
            && state.rows.collections.allSatisfy { state.records(of: $0) == durable.records(of: $0) }
    }

    private func isShown(by file: ReplicaFile) -> Bool {
        SimulatedAdapter.names.allSatisfy { file.database.shown(of: $0) == machine.state.records(of: $0) }
    }

    mutating func restart() {
        process += 1
        if case .file(let file) = keeping {
            file.reopen()
        } else {
            durable = DeviceState(
                clientID: clientID, outbox: read(Outbox.init(from:), durable.outbox.wireValue), rows: durable.rows,
                checkpoint: durable.checkpoint)
        }
        machine = Device(restoring: kept, limits: limits)
        if case .file = keeping, !isDurable(machine.state) { foundOther = true }
    }

    /// The revisions of the rows that it has from the server.
    var rows: [RecordKey: Int64] {
        var found: [RecordKey: Int64] = [:]
        for collection in SimulatedAdapter.names {
            for copy in machine.state.rows.records(of: collection) {
                found[RecordKey(collection, copy.id)] = copy.rev
            }
        }
        return found
    }
}

extension SimulatedDevice {
    /// Makes the entries of one step durable, all of them or none.
    ///
    /// - Parameter commits: of a file, after how many its process ends; nil: it goes on.
    /// - Returns: whether the process is still there.
    mutating func persist(_ entries: [JournalEntry], endingAfter commits: Int?) -> Bool {
        // By way of their written form, where they have one: what is stored is bytes. Before they are stored, because a
        // pull's pieces lie where the rows are kept.
        let state = entries.reduce(into: durable) { state, entry in
            state.apply(entry.wireValue.map { read(JournalEntry.init(from:), $0) } ?? entry)
        }
        if case .file(let file) = keeping {
            let touched = durable.outbox.touchedKeys.union(machine.state.outbox.touchedKeys)
            guard file.persist(entries, of: machine.state, touched: touched, endingAfter: commits) else { return false }
        }
        durable = state
        guard entries.contains(where: \.isPull) else { return true }
        if case .rowStore(let rowStore) = keeping { rowStore.store(durable.rows) }
        machine.rowsAreStored()
        return true
    }

    /// - Returns: whether the process is still there.
    mutating func stage(_ piece: StagedPiece, endingAfter commits: Int?) -> Bool {
        switch keeping {
        case .memory: break
        case .rowStore(let rowStore): rowStore.stage(piece)
        case .file(let file): guard file.stage(piece, endingAfter: commits) else { return false }
        }
        machine.pieceIsStaged()
        return true
    }

    /// A device that cannot read what it wrote itself ends the run: there is nothing to go on with.
    private func read<Kept>(_ make: (WireValue) throws(SyncMessageError) -> Kept, _ value: WireValue) -> Kept {
        do {
            return try make(try CBORFormat().read(try CBORFormat().write(value)))
        } catch {
            fatalError("what a device wrote cannot be read: \(error)")
        }
    }
}

extension JournalEntry {
    var isPull: Bool {
        if case .pulled = self { true } else { false }
    }
}

/// A screen that follows its person's rows by a live stream alone: it applies each event's page as it comes, and comes
/// back with the id of the last one.
struct SimulatedWatcher {
    let person: String
    let format: any WireFormat
    /// A caller looks at it.
    var isOn = true
    /// Counts its connections; what comes from an earlier one is lost with it.
    var connection = 0
    /// The id of the last event that came.
    var lastEvent: String?
    private(set) var rows: [RecordKey: Int64] = [:]

    mutating func forget() {
        lastEvent = nil
        rows = [:]
    }

    /// The checkpoint, where the page completes one. Throws ``Violation`` for a count or checksum that disagrees.
    mutating func apply(_ page: PullPage) throws -> String? {
        for key in rows.keys where page.reset.contains(key.collection) { rows[key] = nil }
        for operation in page.operations {
            let key = RecordKey(operation.collection, operation.id)
            if case .put = operation.kind { rows[key] = operation.rev } else { rows[key] = nil }
        }
        switch page.ending {
        case .next(let token):
            lastEvent = token
            return nil
        case .complete(let completion):
            lastEvent = completion.checkpoint
            for scope in completion.scopes where summary(scope.scope) != (scope.count, scope.checksum) {
                throw Violation(8, "a screen of \(person) has other \(scope.scope) than its stream counts")
            }
            return completion.checkpoint
        }
    }

    private func summary(_ collection: String) -> (Int, String) {
        var checksum = ScopeChecksum()
        for (key, rev) in rows where key.collection == collection {
            checksum.add(collection: collection, id: key.id, rev: rev)
        }
        return (checksum.count, checksum.text)
    }
}
