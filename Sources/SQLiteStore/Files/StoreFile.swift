import AdapterKit
import Foundation
import GRDB
import GRDBSQLite

/// The database file: opened for one writer and several readers, with everything durability rests on set and asserted.
package struct StoreFile {
    let path: String
    /// The largest size in pages; nil: what the disk holds.
    let maximumPages: Int?
    /// Off in the test for lost writes alone.
    let survivesPowerFailure: Bool

    package init(path: String, maximumPages: Int?, survivesPowerFailure: Bool = true) {
        self.path = path
        self.maximumPages = maximumPages
        self.survivesPowerFailure = survivesPowerFailure
    }

    /// Whether the last process that had the file open did not close it: it would have emptied the log file beside it.
    var wasLeftOpen: Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        return (attributes?[.size] as? Int).map { $0 > 0 } ?? false
    }

    /// Bytes of the log file beside it.
    var logBytes: Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        return (attributes?[.size] as? Int).map { Int64($0) } ?? 0
    }

    var hasLog: Bool { FileManager.default.fileExists(atPath: path + "-wal") }

    /// The connection that owns every write and every checkpoint. SQLite before 3.51.3 can damage a file where two
    /// connections write or checkpoint at once, so there is no second one.
    package func openWriter() throws -> DatabaseQueue {
        // SQLite would make it readable by everyone; the files beside it get this one's mode.
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        let connection = try DatabaseQueue(path: path, configuration: configuration(label: "writer"))
        try connection.writeWithoutTransaction { database in
            guard try database.row("PRAGMA journal_mode = WAL", [], { $0.text(0) }) == "wal" else {
                throw PorticoError(.storeUnavailable, "The store's file system does not do write-ahead logging.")
            }
            // Set here, not while opening: GRDB's own set-up for this journal mode would turn it down to NORMAL, which
            // loses acknowledged writes with the power.
            try database.run("PRAGMA synchronous = \(survivesPowerFailure ? "FULL" : "NORMAL")")
            try database.run("PRAGMA journal_size_limit = \(Self.keptLogBytes)")
            if let maximumPages { try database.run("PRAGMA max_page_count = \(maximumPages)") }
            if survivesPowerFailure { try assertIsDurable(database) }
        }
        return connection
    }

    /// A connection on which each run of a statement ends with an interrupt after so many steps, and which may keep a
    /// transaction open between two reads.
    package func openReader(quickSteps: Int32) throws -> DatabaseQueue {
        let connection = try openSlowReader(keepsTransactions: true)
        connection.unsafeRead { database in
            sqlite3_progress_handler(database.sqliteConnection, quickSteps, { _ in 1 }, nil)
        }
        return connection
    }

    func openSlowReader(
        cacheKilobytes: Int = cacheKilobytes, keepsTransactions: Bool = false
    ) throws -> DatabaseQueue {
        var configuration = configuration(label: "reader", cacheKilobytes: cacheKilobytes)
        configuration.readonly = true
        configuration.allowsUnsafeTransactions = keepsTransactions
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Throws `store.unavailable` where the path does not lead to the store any more: it would be another file.
    func openSlowReader(
        cacheKilobytes: Int = cacheKilobytes, checking health: StoreHealth
    ) throws -> DatabaseQueue {
        let connection = try openSlowReader(cacheKilobytes: cacheKilobytes)
        do {
            try health.checkPlaces()
            return connection
        } catch {
            try? connection.close()
            throw error
        }
    }

    /// Reads the whole file. Throws `store.unavailable` where anything is wrong with it.
    static func checkIntegrity(_ database: Database) throws {
        let findings = try database.rows(SQLFragment("PRAGMA integrity_check(10)")) { $0.text(0) }
        guard findings == ["ok"] else {
            throw PorticoError(
                .storeUnavailable, SQLiteFailure.damaged,
                logDetail: findings.joined(separator: "; "))
        }
    }

    private func assertIsDurable(_ database: Database) throws {
        let synchronous = try database.row("PRAGMA synchronous") { $0.integer(0) }
        guard synchronous == Self.full else {
            throw PorticoError(
                .storeUnavailable, "The store would not survive a power failure.",
                logDetail: "synchronous is \(synchronous ?? -1)")
        }
    }

    private func configuration(label: String, cacheKilobytes: Int = cacheKilobytes) -> Configuration {
        var configuration = Configuration()
        configuration.label = "store.\(label)"
        configuration.busyMode = .timeout(Self.busySeconds)
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA cache_size = -\(cacheKilobytes)")
            sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_LENGTH, Self.longestValue)
            try RelationFunctions.register(on: database)
        }
        return configuration
    }

    private static let full: Int64 = 2
    private static let busySeconds = 5.0
    private static let cacheKilobytes = 8_192
    private static let keptLogBytes = 64 << 20
    /// Bytes of a value or a row. Texts that are put together from each other grow by their product.
    private static let longestValue: Int32 = 256 << 20
}
