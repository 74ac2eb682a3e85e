import AdapterKit
import DurableFiles
import Foundation
import GRDB
import RecordStorage

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
    /// The place of what was there before.
    public var replaced: String { path + ".replaced" }

    /// Throws ``PorticoError`` where the backup is damaged; nothing is left of it then, and what an earlier restore has prepared
    /// stays. `accepting` is called when the copy is whole, before it counts: what it throws refuses the backup.
    public func prepare(
        from backup: BackupFolder, ids: any RecordIDSource = RandomRecordIDs(), accepting: () throws -> Void = {}
    ) throws -> BackupSummary {
        try prepare(ids, accepting) { copy in
            guard try backup.copy(BackupFolder.storeName, to: copy) else {
                throw PorticoError(
                    .storeUnavailable, "The backup's store is damaged: its digest is not the listed one.")
            }
        }
    }

    /// The same with a copy of the store that no process has open, and that is moved: it lies on the store's file system.
    public func prepare(
        moving file: String, ids: any RecordIDSource = RandomRecordIDs(), accepting: () throws -> Void = {}
    ) throws -> BackupSummary {
        try prepare(ids, accepting) { copy in
            try Self.makeSingleFile(file)
            try DurableFiles.move(file, to: copy)
        }
    }

    private func prepare(
        _ ids: any RecordIDSource, _ accepting: () throws -> Void, _ copying: (String) throws -> Void
    ) throws -> BackupSummary {
        let copy = path + ".restoring"
        // What an earlier restore left, its journal too: it would be taken for the copy's.
        func removeCopy() throws {
            for ending in ["", "-journal", "-wal", "-shm"] { try DurableFiles.remove(copy + ending) }
        }
        do {
            try removeCopy()
            try copying(copy)
            let summary = try BackupSummary.checking(copy)
            try changeEpoch(of: copy, to: ids.next().text)
            try DurableFiles.flush(copy)
            try accepting()
            try DurableFiles.move(copy, to: prepared)
            return summary
        } catch {
            try? removeCopy()
            throw PorticoError.ofFiles(error, "The backup cannot be copied beside the store.")
        }
    }

    /// A copy with pages of the store itself is one of the log-ahead mode, which wants two files beside it.
    static func makeSingleFile(_ copy: String) throws {
        let connection = try DatabaseQueue(path: copy)
        defer { try? connection.close() }
        try connection.writeWithoutTransaction { try $0.run("PRAGMA journal_mode = DELETE") }
    }

    /// Whether a backup waits for the store to be opened next.
    public var isPrepared: Bool { FileManager.default.fileExists(atPath: prepared) }

    /// Takes back what was prepared.
    public func cancel() throws { try DurableFiles.remove(prepared) }

    private func changeEpoch(of copy: String, to epoch: String) throws {
        let connection = try DatabaseQueue(path: copy)
        defer { try? connection.close() }
        try connection.writeWithoutTransaction { database in
            try database.run("UPDATE portico_meta SET value = ? WHERE name = 'epoch'", [.text(epoch)])
        }
    }

    /// To be called with the store's lock. Can be broken off anywhere and called again. `beginning` is called before
    /// anything is moved.
    func finish(beginning: () throws -> Void) throws {
        guard FileManager.default.fileExists(atPath: prepared) else { return }
        guard DurableFiles.isPlainFile(prepared) else {
            throw PorticoError(
                .storeUnavailable, "The restored store is not a file of its own; restore the backup once more.",
                logDetail: prepared)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: prepared)
        try beginning()
        try? FileManager.default.removeItem(atPath: path + "-shm")
        // The log file first: it belongs to the file that goes.
        for (from, to) in [(path + "-wal", replaced + "-wal"), (path, replaced)]
        where FileManager.default.fileExists(atPath: from) {
            try DurableFiles.move(from, to: to)
        }
        try DurableFiles.move(prepared, to: path)
    }
}
