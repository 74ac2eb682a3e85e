import Foundation
import GRDB
import SyncDevice
import SyncMessages
import Synchronization
import ValueTree

/// The SQLite file of a replica. One connection writes, others read beside it.
///
/// What was persisted survives the end of the process and of the power (``Durability``). May be used from any thread; who
/// persists and stages does one after the other.
public final class ReplicaDatabase: Sendable {
    package let pool: DatabasePool
    package let coding: RowCoding
    let indexes: DeclaredIndexes
    let durability: Durability
    private let failure = Mutex<(any Error)?>(nil)

    /// - Parameters:
    ///   - indexes: by collection, the fields of each index.
    ///   - willCommit: called before each commit; what it throws undoes the transaction, as a crash at that place would.
    /// - Throws: `StorageFailure` or SQLite's error.
    public init(
        path: String, coding: RowCoding = RowCoding(), indexes: [String: Set<[String]>] = [:],
        durability: Durability = .power, willCommit: (@Sendable () throws -> Void)? = nil
    ) throws {
        (self.coding, self.durability) = (coding, durability)
        self.indexes = DeclaredIndexes(indexes)
        pool = try DatabasePool(path: path, configuration: Self.configuration)
        // A pool sets NORMAL after it has prepared its connections.
        try pool.writeWithoutTransaction { try durability.install($0) }
        if let willCommit { pool.add(transactionObserver: CommitObserver(willCommit), extent: .databaseLifetime) }
        try pool.write { connection in
            try ReplicaSchema.install(connection)
            try self.indexes.install(connection)
            try SensitiveFields(coding).install(connection)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { connection in
            connection.add(function: FieldFunction.function)
            try connection.execute(sql: "PRAGMA secure_delete = ON")
        }
        return configuration
    }

    /// Where reading failed since the last call.
    public func takeFailure() -> (any Error)? {
        failure.withLock { found in
            defer { found = nil }
            return found
        }
    }

    /// Reads for the device, which takes no error in between.
    func reading<Result>(_ fallback: Result, _ read: (Database) throws -> Result) -> Result {
        do {
            return try pool.read(read)
        } catch {
            failure.withLock { $0 = error }
            return fallback
        }
    }

    /// Nothing can be read or persisted any more.
    public func close() throws {
        try pool.close()
    }
}

/// Stands before each commit.
private final class CommitObserver: TransactionObserver {
    private let willCommit: @Sendable () throws -> Void

    init(_ willCommit: @escaping @Sendable () throws -> Void) {
        self.willCommit = willCommit
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { try willCommit() }
    func databaseDidCommit(_ database: Database) {}
    func databaseDidRollback(_ database: Database) {}
}

extension ReplicaDatabase: PersistedRows {
    public func record(_ key: RecordKey) -> RecordCopy? {
        reading(nil) { database in
            guard let row = try Self.row(key, database), let rev = row["rev"] as Int64? else { return nil }
            let columns = RowCoding.Columns(row)
            return RecordCopy(id: key.id, rev: rev, fields: try coding.fields(columns, of: key))
        }
    }

    public func revision(_ key: RecordKey) -> Int64? {
        reading(nil) { try Self.row(key, $0)?["rev"] }
    }

    public func records(of collection: String) -> [RecordCopy] {
        reading([]) { database in
            let ids = try String.fetchAll(
                database,
                sql: """
                    SELECT id FROM records WHERE collection = ?1 UNION SELECT id FROM beneath WHERE collection = ?1
                    """, arguments: [collection])
            return try ids.compactMap { id in
                let key = RecordKey(collection, id)
                guard let row = try Self.row(key, database), let rev = row["rev"] as Int64? else { return nil }
                let columns = RowCoding.Columns(row)
                return RecordCopy(id: id, rev: rev, fields: try coding.fields(columns, of: key))
            }
        }
    }

    public func checksums() -> [String: ScopeChecksum] {
        reading([:]) { database in
            let rows = try Row.fetchAll(database, sql: "SELECT collection, count, sum FROM scopes")
            return Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    let sum = UInt64(bitPattern: row["sum"] as Int64)
                    return (row["collection"], ScopeChecksum(count: row["count"], sum: sum))
                })
        }
    }

    /// The server's state of a record, as far as is stored; its rev is null where that is nothing.
    private static func row(_ key: RecordKey, _ database: Database) throws -> Row? {
        let beneath = try database.cachedStatement(
            sql: "SELECT rev, fields, sealed FROM beneath WHERE collection = ? AND id = ?")
        if let row = try Row.fetchOne(beneath, arguments: [key.collection, key.id]) { return row }
        let shown = try database.cachedStatement(
            sql: "SELECT rev, fields, sealed FROM records WHERE collection = ? AND id = ?")
        return try Row.fetchOne(shown, arguments: [key.collection, key.id])
    }
}

/// Data that one step of the device makes durable.
public struct PersistedStep: Sendable {
    let entries: [JournalEntry]
    /// The state after the step.
    let state: DeviceState
    /// Records that may look different after it, beyond those that a pull names.
    let touched: Set<RecordKey>

    /// - Parameter touched: with a pull, all that the outbox has to do with, before it and after.
    public init(entries: [JournalEntry], state: DeviceState, touched: Set<RecordKey>) {
        (self.entries, self.state, self.touched) = (entries, state, touched)
    }

    package var pulls: [JournalEntry.Pulled] {
        entries.compactMap { entry in
            if case .pulled(let pulled) = entry { pulled } else { nil }
        }
    }

    /// Collections whose observers may see a difference.
    package var collections: Set<String> {
        Set(touched.map(\.collection)).union(pulls.flatMap(\.rows.collections))
    }
}

extension ReplicaDatabase {
    /// Entries since the last snapshot, from which on the next one is due.
    private static let longestJournal = 512

    /// All of it in one transaction, or none of it.
    public func persist(_ step: PersistedStep) throws {
        // Read before the transaction: readers see what was committed.
        let shown = step.touched.map { ShownRecord($0, in: step.state) }
        if let failure = takeFailure() { throw failure }
        try pool.write { database in
            let rows = try RowWriting(database, coding)
            for pulled in step.pulls {
                try rows.apply(pulled.rows, checksums: step.state.rows, indexes: indexes)
            }
            for record in shown { try rows.show(record) }
            if let completion = step.pulls.last?.completion { try write(agesOf: completion.scopes, database) }
            try write(step, database)
        }
    }

    private func write(_ step: PersistedStep, _ database: Database) throws {
        guard step.pulls.isEmpty else { return try writeSnapshot(step.state, database) }
        let insert = try database.cachedStatement(sql: "INSERT INTO journal (entry) VALUES (?)")
        for entry in step.entries {
            guard let value = entry.wireValue else { continue }
            try insert.execute(arguments: [try coding.blob(value, as: "journal")])
        }
        let last = database.lastInsertedRowID
        // Twice the outbox, so that writing it costs no more than the entries before did.
        guard last > max(Self.longestJournal, 2 * step.state.outbox.pending.count) else { return }
        try writeSnapshot(step.state, database)
    }
}

extension ReplicaDatabase {
    private static let ages = "ages"

    /// Beside the device, which does not decide by them.
    private func write(agesOf scopes: [ScopeSummary], _ database: Database) throws {
        var ages = WireDictionary()
        for scope in scopes {
            if let asOf = scope.asOf { ages[scope.scope] = .double(asOf.secondsSinceReferenceDate) }
        }
        try database.execute(
            sql: "INSERT OR REPLACE INTO device VALUES (?, ?)",
            arguments: [Self.ages, try coding.blob(.dictionary(ages), as: Self.ages)])
    }

    /// When another system had the collection's records, by the last pull, in seconds since 2001; nil: the gateway has
    /// their truth, or they were never fetched.
    package func asOf(_ collection: String, _ database: Database) throws -> Double? {
        let blob = try Data.fetchOne(database, sql: "SELECT value FROM device WHERE name = ?", arguments: [Self.ages])
        return try blob.flatMap { try coding.value($0, as: Self.ages)[collection]?.doubleValue }
    }
}

/// A record as the app is to see it.
struct ShownRecord {
    let key: RecordKey
    let record: RecordCopy?
    let isWaiting: Bool
    /// Whether the outbox has to do with it: what the server has is kept beneath.
    let isLaidOver: Bool

    init(_ key: RecordKey, in state: DeviceState) {
        self.key = key
        record = state[key]
        isWaiting = state.outbox.pending.contains { $0.edit.key == key }
        isLaidOver = isWaiting || state.outbox.acknowledged.contains { $0.edit.key == key }
    }
}

extension ReplicaDatabase {
    /// The records of a collection that an app sees, in the order of the ids' bytes.
    public func shown(of collection: String) -> [RecordCopy] {
        reading([]) { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT id, rev, fields, sealed FROM records WHERE collection = ? ORDER BY id",
                arguments: [collection])
            var found: [RecordCopy] = []
            while let row = try rows.next() {
                let key = RecordKey(collection, row["id"])
                let columns = RowCoding.Columns(row)
                found.append(RecordCopy(id: key.id, rev: row["rev"], fields: try coding.fields(columns, of: key)))
            }
            return found
        }
    }
}

extension ReplicaDatabase {
    /// The device's state after all that was persisted.
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

    /// Stores the whole state in one transaction.
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
            checkpoint: value["checkpoint"]?.stringValue,
            known: try value["known"].map { try KnownCollections(from: $0) })
        let entries = try Data.fetchCursor(database, sql: "SELECT entry FROM journal ORDER BY number")
        while let entry = try entries.next() {
            state.apply(try JournalEntry(from: try coding.value(entry, as: "journal")))
        }
        return state
    }

    /// Everything of the state but its rows; what the journal held is in it.
    func writeSnapshot(_ state: DeviceState, _ database: Database) throws {
        var members: WireDictionary = ["clientID": .string(state.clientID), "outbox": state.outbox.wireValue]
        if let checkpoint = state.checkpoint { members["checkpoint"] = .string(checkpoint) }
        if let known = state.known { members["known"] = known.wireValue }
        try database.execute(
            sql: "INSERT OR REPLACE INTO device VALUES ('state', ?)",
            arguments: [try coding.blob(.dictionary(members), as: "state")])
        try database.execute(sql: "DELETE FROM journal")
    }
}

/// The durability of a commit.
public enum Durability: String, Sendable {
    /// Persisted data survive the loss of power (`synchronous = FULL`).
    case power = "FULL"
    /// Persisted data survive the end of the process, as where a simulation ends nothing else.
    case process = "OFF"

    func install(_ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = \(rawValue)")
    }

    /// For what need not survive.
    func relax(_ database: Database) throws {
        if self == .power { try database.execute(sql: "PRAGMA synchronous = NORMAL") }
    }

    /// Back to what it was. Setting it touches no file, so it has nothing to fail of; it must not be passed over if it did.
    func restore(_ database: Database) {
        do { try install(database) } catch { fatalError("synchronous cannot be set: \(error)") }
    }
}
