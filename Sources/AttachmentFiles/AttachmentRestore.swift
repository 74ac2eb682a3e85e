import AdapterKit
import Foundation
import SyncEngine

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

    /// A backup without attachments is one of a store that had none. Throws ``PorticoError``.
    public func prepare(from backup: String) throws -> AttachmentCopies {
        let source = URL(filePath: backup).appending(path: AttachmentFiles.folderName)
        return try asStoreErrors {
            let unfinished = directory.appending(path: "restoring")
            try? FileManager.default.removeItem(at: unfinished)
            let copies = try AttachmentCopy(into: unfinished).run(AttachmentLayout(complete: source).complete())
            try? FileManager.default.removeItem(at: prepared)
            try DurableNames.move(unfinished, to: prepared)
            return copies
        }
    }

    /// Can be broken off anywhere and called again. They are in use from now on, however old they are.
    func finish() throws {
        let layout = AttachmentLayout(directory)
        for found in AttachmentLayout(complete: prepared).complete() {
            let place = layout.place(of: found.digest)
            try place.deletingLastPathComponent().makeDirectory()
            try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: found.place.path)
            try DurableNames.move(found.place, to: place)
        }
        try? FileManager.default.removeItem(at: prepared)
    }
}
