import AdapterKit
import Crypto
import DurableFiles
import Foundation
import RecordStorage

/// Copies attachments into a directory, `ab/abcd…` each: a backup's, or the one that a restore prepares.
struct AttachmentCopy {
    private let directory: URL

    init(into directory: URL) {
        self.directory = directory
    }

    /// Checks what it copies while it does: bytes with another digest are reported and left out. So is a file that
    /// a caller removed meanwhile.
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

    /// One that is elsewhere.
    func add(
        _ digest: AttachmentDigest, to copies: inout AttachmentCopies, _ leavesOutDamaged: Bool,
        _ read: @Sendable (AttachmentDigest, String) async throws -> Void
    ) async throws {
        let file: URL = try asStoreErrors { try place(of: digest) }
        do {
            try await read(digest, file.path)
            if try FileDigest.of(file) == digest.text {
                copies.count += 1
                copies.bytes += file.fileSize ?? 0
                return
            }
        } catch let error as PorticoError where error.code == .recordNotFound && leavesOutDamaged {
            // It is named among those that are damaged.
        }
        try DurableFiles.remove(file.path)
        copies.damaged.append(digest)
        guard leavesOutDamaged else {
            throw PorticoError(
                .requestInvalid,
                "The backup is not restored: the attachment \(digest) is damaged; --leave-out-damaged restores the others."
            )
        }
    }

    private static func name(of path: String) -> String { String(path.split(separator: "/").last ?? "") }

    func flush() throws {
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

/// Brings a backup's attachments back, in steps as the store's: they are copied beside those that are there and checked, are accepted
/// with the store that names them, and join the others when the gateway starts next. Nothing is replaced: equal names are equal
/// bytes.
public struct AttachmentRestore {
    private let directory: URL
    private let copied: URL
    private let prepared: URL

    /// `directory`: where ``AttachmentFiles`` keeps them.
    public init(into directory: URL) {
        self.directory = directory
        copied = directory.appending(path: "restoring")
        prepared = directory.appending(path: "restored")
    }

    /// Copies them. A backup without attachments is one of a store that had none. Throws ``PorticoError``, for one that is damaged
    /// unless the backup's reader tolerates that; nothing is left of it then.
    public func copy(from backup: BackupFolder) throws -> AttachmentCopies {
        try asStoreErrors {
            try directory.makeDirectory()
            try discard()
            do { return try AttachmentCopy(into: copied).run(backup) } catch {
                try? discard()
                throw error
            }
        }
    }

    /// The same for attachments that are elsewhere: `read` writes one to the path that it is called with. Throws what it throws, and
    /// `store.unavailable` for one with other bytes, unless `leavesOutDamaged`.
    public func copy(
        _ digests: [AttachmentDigest], leavesOutDamaged: Bool,
        reading read: @Sendable (AttachmentDigest, String) async throws -> Void
    ) async throws -> AttachmentCopies {
        try asStoreErrors {
            try directory.makeDirectory()
            try discard()
        }
        do {
            let copy = AttachmentCopy(into: copied)
            var copies = AttachmentCopies()
            try asStoreErrors { try copied.makeDirectory() }
            for digest in digests { try await copy.add(digest, to: &copies, leavesOutDamaged, read) }
            try asStoreErrors { try copy.flush() }
            return copies
        } catch {
            try? discard()
            throw error
        }
    }

    /// Has what was copied join those that are there at the next start, in the place of what an earlier restore has prepared.
    public func accept() throws {
        try asStoreErrors {
            try? FileManager.default.removeItem(at: prepared)
            try DurableFiles.move(copied.path, to: prepared.path)
        }
    }

    /// Removes what was copied and not accepted.
    public func discard() throws {
        guard FileManager.default.fileExists(atPath: copied.path) else { return }
        try FileManager.default.removeItem(at: copied)
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

/// SHA-256 of a file's bytes, which are read piece by piece.
enum FileDigest {
    private static let piece = 256 << 10

    static func of(_ place: URL) throws -> String { try read(place) { _ in } }

    /// Copies the file meanwhile; durable.
    static func copying(_ place: URL, to copy: URL) throws -> String {
        _ = FileManager.default.createFile(atPath: copy.path, contents: nil, attributes: [.posixPermissions: 0o600])
        let target = try FileHandle(forWritingTo: copy)
        defer { try? target.close() }
        let digest = try read(place) { try target.write(contentsOf: $0) }
        try target.synchronize()
        return digest
    }

    private static func read(_ place: URL, _ take: (Data) throws -> Void) throws -> String {
        let file = try FileHandle(forReadingFrom: place)
        defer { try? file.close() }
        var hash = SHA256()
        while let piece = try file.read(upToCount: piece), !piece.isEmpty {
            hash.update(data: piece)
            try take(piece)
        }
        return Hexadecimal.text(hash.finalize())
    }
}
