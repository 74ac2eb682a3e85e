import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

/// A device of a run: its machine, what is durable of it, and its circumstances.
struct SimulatedDevice {
    let person: String
    let clientID: String
    /// Each device speaks one format.
    let format: any WireFormat
    let limits: DeviceLimits
    var machine: Device
    /// The fold of what was persisted: what a crash leaves.
    var durable: DeviceState
    /// Counts its processes; answers to an earlier one are lost with it.
    var process = 0
    var isOnline = true
    /// The server refuses its credentials.
    var isSignedOut = false
    var editsMade = 0
    /// Every other device has its rows elsewhere, as an app has.
    private let shelf: Shelf?

    init(_ number: Int, person: String, format: any WireFormat, limits: DeviceLimits) {
        self.person = person
        self.format = format
        self.limits = limits
        clientID = "d\(number)"
        durable = DeviceState(clientID: clientID)
        machine = Device(restoring: durable, limits: limits)
        shelf = number.isMultiple(of: 2) ? Shelf() : nil
        machine = Device(restoring: kept, limits: limits)
    }

    /// What a process finds at its start.
    private var kept: DeviceState {
        guard let shelf else { return durable }
        return DeviceState(
            clientID: clientID, outbox: durable.outbox, rows: ReplicaRows(keptBy: shelf), checkpoint: durable.checkpoint
        )
    }

    /// Whether what a crash would leave is what the device has.
    var isDurable: Bool {
        guard shelf != nil else { return machine.state == durable }
        let state = machine.state
        return state.outbox == durable.outbox && state.checkpoint == durable.checkpoint
            && state.rows.collections == durable.rows.collections
            && state.rows.collections.allSatisfy { state.records(of: $0) == durable.records(of: $0) }
    }

    /// By way of its written form, where it has one: what is stored is bytes.
    mutating func persist(_ entry: JournalEntry) {
        durable.apply(entry.wireValue.map { read(JournalEntry.init(from:), $0) } ?? entry)
        guard case .pulled = entry, let shelf else { return }
        shelf.store(durable.rows)
        machine.rowsAreStored()
    }

    mutating func stage(_ piece: StagedPiece) {
        shelf?.stage(piece)
        machine.pieceIsStaged()
    }

    mutating func restart() {
        process += 1
        durable = DeviceState(
            clientID: clientID, outbox: read(Outbox.init(from:), durable.outbox.wireValue), rows: durable.rows,
            checkpoint: durable.checkpoint)
        machine = Device(restoring: kept, limits: limits)
    }

    /// A device that cannot read what it wrote itself ends the run: there is nothing to go on with.
    private func read<Kept>(_ make: (WireValue) throws(MessageError) -> Kept, _ value: WireValue) -> Kept {
        do {
            return try make(try CBORFormat().read(try CBORFormat().write(value)))
        } catch {
            fatalError("what a device wrote cannot be read: \(error)")
        }
    }

    /// The revisions of the rows that it has from the server.
    var rows: [RecordKey: Int64] {
        var found: [RecordKey: Int64] = [:]
        for collection in Lab.names {
            for copy in machine.state.rows.records(of: collection) {
                found[RecordKey(collection, copy.id)] = copy.rev
            }
        }
        return found
    }
}
