import AdapterKit
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
        do {
            return try copy(from: source, adding: adding)
        } catch {
            try? FileManager.default.removeItem(at: unfinished)
            throw PorticoError.ofFiles(error, "The backup cannot be written.")
        }
    }

    private func copy(from source: DatabaseQueue, adding: (String) throws -> Void) throws -> BackupSummary {
        try? FileManager.default.removeItem(at: unfinished)
        try FileManager.default.createDirectory(
            at: unfinished, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = unfinished.appending(path: BackupFolder.storeName).path
        let expected = try copyFile(from: source, to: path)
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

    /// What the store was at the moment of the copy: both are read within one transaction.
    private func copyFile(from source: DatabaseQueue, to path: String) throws -> BackupSummary {
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
