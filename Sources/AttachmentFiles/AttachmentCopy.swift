import AdapterKit
import DurableFiles
import Foundation
import RecordStorage

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
        try flush()
        return copies
    }

    /// A backup's, with its list. Throws where one is damaged, unless that is tolerated.
    func run(_ backup: BackupFolder) throws -> AttachmentCopies {
        var copies = AttachmentCopies()
        try directory.makeDirectory()
        copies.damaged = backup.missing.compactMap { AttachmentDigest(Self.name(of: $0)) }
        for path in backup.attachments {
            guard let digest = AttachmentDigest(Self.name(of: path)) else { continue }
            let copy = try place(of: digest)
            if try backup.copy(path, to: copy.path), try FileDigest.of(copy) == digest.text {
                copies.count += 1
                copies.bytes += copy.fileSize ?? 0
                continue
            }
            guard backup.tolerance.damagedAttachments else {
                throw PorticoError(
                    .requestInvalid,
                    "The backup is not restored: \(path) is damaged; --leave-out-damaged restores the others.")
            }
            try DurableFiles.remove(copy.path)
            copies.damaged.append(digest)
        }
        try flush()
        return copies
    }

    private static func name(of path: String) -> String { String(path.split(separator: "/").last ?? "") }

    private func flush() throws {
        for folder in directory.namesWithin { try DurableFiles.flush(directory.appending(path: folder).path) }
        try DurableFiles.flush(directory.path)
    }

    private func place(of digest: AttachmentDigest) throws -> URL {
        let folder = directory.appending(path: String(digest.text.prefix(2)))
        try folder.makeDirectory()
        return folder.appending(path: digest.text)
    }

    private func copy(_ attachment: AttachmentLayout.Found) throws -> Bool {
        let copy = try place(of: attachment.digest)
        guard try FileDigest.copying(attachment.place, to: copy) == attachment.digest.text else {
            try FileManager.default.removeItem(at: copy)
            return false
        }
        return true
    }
}
