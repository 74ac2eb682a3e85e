import Foundation
import GRDB
import SyncDevice
import SyncMessages
import Synchronization
import ValueTree

/// The SQLite file of a replica. One connection writes, others read beside it.
///
/// What was persisted survives the end of the process and, `synchronous` being FULL, of the power.
final class ReplicaDatabase: Sendable {
    let pool: DatabasePool
    let coding: RowCoding
    private let failure = Mutex<(any Error)?>(nil)

    /// - Throws: `StorageFailure` or SQLite's error.
    init(path: String, coding: RowCoding, indexes: [String: [FieldIndex]]) throws {
        self.coding = coding
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { connection in
            connection.add(function: FieldFunction.function)
            try connection.execute(sql: "PRAGMA secure_delete = ON")
        }
        pool = try DatabasePool(path: path, configuration: configuration)
        // A pool sets NORMAL after it has prepared its connections.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try pool.write { connection in
            try ReplicaSchema.install(connection)
            try DeclaredIndexes(indexes).install(connection)
            try SensitiveFields(coding).install(connection)
        }
    }

    /// Where reading failed since the last call.
    func takeFailure() -> (any Error)? {
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
}
