import Foundation
import SyncEngine

/// Copies attachments into a directory, `ab/abcd…` each: a backup's, or the one that a restore prepares.
struct AttachmentCopy {
    private let directory: URL

    init(into directory: URL) {
        self.directory = directory
    }

    /// Checks what it copies while it does: bytes that are something else are told and left out. So is a file that
    /// somebody removed meanwhile.
    func run(_ found: [AttachmentLayout.Found]) throws -> AttachmentCopies {
        var copies = AttachmentCopies()
        try directory.makeDirectory()
        for attachment in found where FileManager.default.fileExists(atPath: attachment.place.path) {
            if try copy(attachment) {
                copies.count += 1
                copies.bytes += attachment.size
            } else {
                copies.damaged.append(attachment.digest)
            }
        }
        for folder in directory.namesWithin { try DurableNames.flush(directory.appending(path: folder)) }
        try DurableNames.flush(directory)
        return copies
    }

    private func copy(_ attachment: AttachmentLayout.Found) throws -> Bool {
        let folder = directory.appending(path: String(attachment.digest.text.prefix(2)))
        try folder.makeDirectory()
        let copy = folder.appending(path: attachment.digest.text)
        guard try FileDigest.copying(attachment.place, to: copy) == attachment.digest.text else {
            try FileManager.default.removeItem(at: copy)
            return false
        }
        return true
    }
}
