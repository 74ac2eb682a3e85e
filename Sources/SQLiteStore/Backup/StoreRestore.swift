import AdapterKit
import Foundation
import GRDB
import SyncEngine

/// Puts a backup in the store's place, in two steps: it is checked, copied beside the store and given a new epoch at
/// once; it takes the store's place when the store is opened next. What was there is kept beside it.
///
/// Whatever happens in between, either the old store or the new one is opened, whole.
public struct StoreRestore: Sendable {
    private let path: String

    /// `path` is the store's file; its directory must be there.
    public init(path: String) {
        self.path = path
    }

    private var prepared: String { path + ".restored" }
    /// What was there before.
    public var replaced: String { path + ".replaced" }

    /// Throws ``PorticoError`` where the directory holds no backup, or a damaged one.
    public func prepare(from directory: String, ids: any RecordIDSource = RandomRecordIDs()) throws -> BackupSummary {
        let backup = directory + "/" + StoreBackup.fileName
        guard FileManager.default.fileExists(atPath: backup) else {
            throw PorticoError(.recordNotFound, "There is no backup in this directory.", target: "directory")
        }
        let copy = path + ".restoring"
        do {
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: backup, toPath: copy)
            let summary = try BackupSummary.checking(copy)
            try changeEpoch(of: copy, to: ids.next().text)
            try DurableFiles.flush(copy)
            try DurableFiles.move(copy, to: prepared)
            return summary
        } catch {
            try? FileManager.default.removeItem(atPath: copy)
            throw PorticoError.ofFiles(error, "The backup cannot be copied beside the store.")
        }
    }

    private func changeEpoch(of copy: String, to epoch: String) throws {
        let connection = try DatabaseQueue(path: copy)
        defer { try? connection.close() }
        try connection.writeWithoutTransaction { database in
            try database.run("UPDATE portico_meta SET value = ? WHERE name = 'epoch'", [.text(epoch)])
        }
    }

    /// To be called with the store's lock. Can be broken off anywhere and called again.
    func finish() throws {
        guard FileManager.default.fileExists(atPath: prepared) else { return }
        try? FileManager.default.removeItem(atPath: path + "-shm")
        // The log file first: it belongs to the file that goes.
        for (from, to) in [(path + "-wal", replaced + "-wal"), (path, replaced)]
        where FileManager.default.fileExists(atPath: from) {
            try DurableFiles.move(from, to: to)
        }
        try DurableFiles.move(prepared, to: path)
    }
}
