import Foundation
import GRDB
import SyncDevice
import SyncMessages
import ValueTree

extension ReplicaDatabase {
    /// What the device is after all that was persisted.
    ///
    /// - Parameter newClientID: for a replica that has none yet.
    public func state(newClientID: () -> String) throws -> DeviceState {
        // They ask the database themselves, so they cannot be made while it is read.
        let rows = ReplicaRows(keptBy: self)
        if let failure = takeFailure() { throw failure }
        if let found = try pool.read({ try self.stored($0, rows) }) { return found }
        let state = DeviceState(clientID: newClientID(), outbox: Outbox(), rows: rows, checkpoint: nil)
        try save(state)
        return state
    }

    public func save(_ state: DeviceState) throws {
        try pool.write { try self.writeSnapshot(state, $0) }
    }

    private func stored(_ database: Database, _ rows: ReplicaRows) throws -> DeviceState? {
        guard let blob = try Data.fetchOne(database, sql: "SELECT value FROM device WHERE name = 'state'") else {
            return nil
        }
        let value = try coding.value(blob, as: "state")
        guard let clientID = value["clientID"]?.stringValue, let outbox = value["outbox"] else {
            throw StorageFailure("the replica has no device")
        }
        var state = DeviceState(
            clientID: clientID, outbox: try Outbox(from: outbox), rows: rows,
            checkpoint: value["checkpoint"]?.stringValue)
        let entries = try Data.fetchCursor(database, sql: "SELECT entry FROM journal ORDER BY number")
        while let entry = try entries.next() {
            state.apply(try JournalEntry(from: try coding.value(entry, as: "journal")))
        }
        return state
    }

    /// Everything of the state but its rows; what the journal told is in it.
    func writeSnapshot(_ state: DeviceState, _ database: Database) throws {
        var members: WireDictionary = ["clientID": .string(state.clientID), "outbox": state.outbox.wireValue]
        if let checkpoint = state.checkpoint { members["checkpoint"] = .string(checkpoint) }
        try database.execute(
            sql: "INSERT OR REPLACE INTO device VALUES ('state', ?)",
            arguments: [try coding.blob(.dictionary(members), as: "state")])
        try database.execute(sql: "DELETE FROM journal")
    }
}
