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

    /// Reads for the device, which cannot be told of an error in between.
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
