import AdapterKit
import Crypto
import Foundation
import SyncEngine

/// One part of an upload, and what follows from the last one.
struct AttachmentAppend {
    let files: AttachmentFiles
    let digest: AttachmentDigest
    let offset: Int64
    let size: Int64

    private static let piece = 1 << 20

    func run(_ bytes: [UInt8]) throws -> AttachmentUpload {
        let upload = files.upload(of: digest)
        guard files.size(upload) ?? 0 == offset else {
            throw PorticoError(.preconditionFailed, "The upload is not at this position.", target: "offset")
        }
        try append(bytes, to: upload)
        let reached = offset + Int64(bytes.count)
        guard reached == size else { return AttachmentUpload(offset: reached, isComplete: false) }
        try check(upload)
        let place = files.place(of: digest)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try DurableFiles.flush(files.directory.path)
        try DurableFiles.move(upload.path, to: place.path)
        return AttachmentUpload(offset: size, isComplete: true)
    }

    private func append(_ bytes: [UInt8], to upload: URL) throws {
        if !FileManager.default.fileExists(atPath: upload.path) {
            _ = FileManager.default.createFile(
                atPath: upload.path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        do {
            let file = try FileHandle(forWritingTo: upload)
            defer { try? file.close() }
            try file.seekToEnd()
            try file.write(contentsOf: Data(bytes))
            try file.synchronize()
        } catch {
            // What was written in part is not counted: the next call goes on where this one began.
            truncate(upload.path, off_t(offset))
            throw PorticoError(.storeUnavailable, "The attachment cannot be written.", logDetail: "\(error)")
        }
    }

    /// Reads the whole upload back. Throws `request.invalid`, and removes it, where it has another digest.
    private func check(_ upload: URL) throws {
        let file = try FileHandle(forReadingFrom: upload)
        defer { try? file.close() }
        var hash = SHA256()
        while let piece = try file.read(upToCount: Self.piece), !piece.isEmpty { hash.update(data: piece) }
        let found = hash.finalize().map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
        guard found == digest.text else {
            try FileManager.default.removeItem(at: upload)
            throw PorticoError(.requestInvalid, "The bytes do not have this digest.", target: "digest")
        }
    }
}
