import AdapterKit
import DurableFiles
import Foundation
import RecordStorage

/// Brings a backup's attachments back, in two steps as the store's are: they are copied beside those that are there and
/// checked at once, and join them when the gateway starts next. Nothing is replaced: equal names are equal bytes.
public struct AttachmentRestore {
    private let directory: URL
    private let prepared: URL

    /// `directory`: where ``AttachmentFiles`` keeps them.
    public init(into directory: URL) {
        self.directory = directory
        prepared = directory.appending(path: "restored")
    }

    /// A backup without attachments is one of a store that had none. Throws ``PorticoError``, for one that is damaged
    /// unless the backup's reader tolerates that.
    public func prepare(from backup: BackupFolder) throws -> AttachmentCopies {
        try asStoreErrors {
            try directory.makeDirectory()
            let unfinished = directory.appending(path: "restoring")
            try? FileManager.default.removeItem(at: unfinished)
            let copies = try AttachmentCopy(into: unfinished).run(backup)
            try cancel()
            try DurableFiles.move(unfinished.path, to: prepared.path)
            return copies
        }
    }

    /// Takes back what was prepared.
    public func cancel() throws {
        guard FileManager.default.fileExists(atPath: prepared.path) else { return }
        try FileManager.default.removeItem(at: prepared)
    }

    /// Can be broken off anywhere and called again. They are in use from now on, however old they are.
    func finish() throws {
        let layout = AttachmentLayout(directory)
        for found in AttachmentLayout(complete: prepared).complete() {
            let place = layout.place(of: found.digest)
            try place.deletingLastPathComponent().makeDirectory()
            try FileManager.default.setAttributes(
                [.modificationDate: Date(), .posixPermissions: 0o600], ofItemAtPath: found.place.path)
            try DurableFiles.move(found.place.path, to: place.path)
        }
        try? FileManager.default.removeItem(at: prepared)
    }
}
