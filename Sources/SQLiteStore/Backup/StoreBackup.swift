import AdapterKit
import Dispatch
import DurableFiles
import Foundation
import GRDB
import GRDBSQLite
import RecordStorage

/// A copy of a store in a directory of its own, made while others write, and checked.
///
/// The directory appears under its name only once everything in it is on the disk and was read back.
struct StoreBackup {
    let directory: URL

    private var unfinished: URL {
        directory.deletingLastPathComponent().appending(path: ".\(directory.lastPathComponent).unfinished")
    }

    /// `adding` may put further files into the directory that it is called with, durably.
    ///
    /// Throws ``PorticoError``: `record.exists` where something is there already, `store.full` without room.
    func make(from source: DatabaseQueue, adding: (String) throws -> Void) throws -> BackupSummary {
        guard !FileManager.default.fileExists(atPath: directory.path) else {
            throw PorticoError(.recordExists, "There is something at the backup's place already.", target: "directory")
        }
        try requireWritable()
        do {
            return try copy(from: source, adding: adding)
        } catch {
            try? FileManager.default.removeItem(at: unfinished)
            throw PorticoError.ofFiles(error, "The backup cannot be written.")
        }
    }

    /// Throws where the folder in which the directory is to be is closed to this process: by its owner, or because the system's
    /// unit leaves the process its own folders alone.
    private func requireWritable() throws {
        var folder = directory.deletingLastPathComponent().standardizedFileURL
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path) {
            folder.deleteLastPathComponent()
        }
        guard FileManager.default.isWritableFile(atPath: folder.path) else {
            throw PorticoError(
                .storeUnavailable,
                "The gateway may not write in \(folder.path): name a directory below one that is its user's, such as its data directory's.",
                target: "directory")
        }
    }

    private func copy(from source: DatabaseQueue, adding: (String) throws -> Void) throws -> BackupSummary {
        try? FileManager.default.removeItem(at: unfinished)
        try FileManager.default.createDirectory(
            at: unfinished, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = unfinished.appending(path: BackupFolder.storeName).path
        let expected = try Self.copyFile(from: source, to: path)
        let found = try BackupSummary.checking(path)
        guard found == expected else {
            throw PorticoError(
                .storeUnavailable, "The backup is not what the store was.", logDetail: "\(found), \(expected)")
        }
        try DurableFiles.flush(path)
        try adding(unfinished.path)
        try BackupList.of(unfinished.path).write(into: unfinished.path)
        try DurableFiles.flush(unfinished.path)
        try DurableFiles.move(unfinished.path, to: directory.path)
        return found
    }

    /// Copies the store, and returns its state when it was copied: both are read within one transaction.
    static func copyFile(from source: DatabaseQueue, to path: String) throws -> BackupSummary {
        _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        let target = try DatabaseQueue(path: path)
        defer { try? target.close() }
        return try target.writeWithoutTransaction { copy in
            let summary = try source.read { database in
                let summary = try BackupSummary(of: database)
                try database.backup(to: copy)
                return summary
            }
            // A single file: a copy of the log-ahead mode would want two more beside it.
            try copy.run("PRAGMA journal_mode = DELETE")
            return summary
        }
    }
}

extension BackupSummary {
    init(of database: Database) throws {
        let tables = try database.rows(SQLFragment(Self.countedTables)) { $0.text(0) }
        var rows: [String: Int64] = [:]
        for table in tables {
            rows[table] = try database.row("SELECT count(*) FROM \(table.quotedIdentifier)") { $0.integer(0) }
        }
        let size = try database.row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") {
            $0.integer(0)
        }
        self.init(
            epoch: try HostSchema.epoch(database), position: Revision(try StoredPositions.last(on: database)),
            floor: try LogFloor.read(database), rows: rows, size: size ?? 0)
    }

    /// Reads the whole file. Throws `store.unavailable` where anything is wrong with it, or its log has a gap.
    static func checking(_ path: String) throws -> BackupSummary {
        let connection = try StoreFile(path: path, maximumPages: nil).openSlowReader()
        defer { try? connection.close() }
        return try connection.read { database in
            try HostSchema.check(database)
            try StoreFile.checkIntegrity(database)
            let summary = try BackupSummary(of: database)
            let log = try database.row("SELECT min(position), max(position), count(*) FROM portico_log") {
                (first: $0.integer(0), last: $0.integer(1), count: $0.integer(2))
            }
            if let log, log.count > 0, log.count != log.last - log.first + 1 || log.first > summary.floor.number + 1 {
                throw PorticoError(.storeUnavailable, SQLiteFailure.damaged, logDetail: "the log has a gap: \(log)")
            }
            return summary
        }
    }

    /// Tables of rows, without those that full-text indexes keep for themselves.
    private static let countedTables = """
        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'
        AND (name LIKE 'portico_%' OR name LIKE '%/%') AND name NOT IN (
            SELECT s.name FROM sqlite_schema s JOIN sqlite_schema v ON s.name LIKE v.name || '\\_%' ESCAPE '\\'
            WHERE v.sql LIKE 'CREATE VIRTUAL%'
        )
        """
}

/// Work that takes long and waits for the disk: on a thread of its own, so that no thread that serves others is held.
package enum DedicatedThread {
    package static func run<Result: Sendable>(
        label: String, _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { answer in
            DispatchQueue(label: label).async { answer.resume(with: Swift.Result { try work() }) }
        }
    }
}
