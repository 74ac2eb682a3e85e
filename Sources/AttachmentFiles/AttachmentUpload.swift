import AdapterKit
import Crypto
import Foundation
import SyncEngine

/// One owner's upload of one attachment.
struct AttachmentUpload {
    let place: URL
    let goal: URL
    let digest: AttachmentDigest
    let total: Int64

    func append(_ bytes: [UInt8], at offset: Int64) throws -> AttachmentProgress {
        guard AttachmentFiles.size(of: goal) == nil else { return .complete }
        let received = AttachmentFiles.size(of: place) ?? 0
        guard offset <= received else {
            throw PorticoError(.recordConflict, "The first \(received) bytes are here; go on from there.")
        }
        let known = min(Int64(bytes.count), received - offset)
        try write(bytes[Int(known)...])
        let size = received + Int64(bytes.count) - known
        guard size >= total else { return .received(size) }
        try finish()
        return .complete
    }

    private func write(_ bytes: ArraySlice<UInt8>) throws {
        if !FileManager.default.fileExists(atPath: place.path) {
            _ = FileManager.default.createFile(
                atPath: place.path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        let file = try FileHandle(forWritingTo: place)
        defer { try? file.close() }
        try file.seekToEnd()
        try file.write(contentsOf: Data(bytes))
        try file.synchronize()
    }

    private func finish() throws {
        guard try digestOfPlace() == digest.text else {
            try FileManager.default.removeItem(at: place)
            throw PorticoError(.requestInvalid, "The bytes are not what the digest says.", target: "sha256")
        }
        try FileManager.default.createDirectory(
            at: goal.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.moveItem(at: place, to: goal)
    }

    private func digestOfPlace() throws -> String {
        let file = try FileHandle(forReadingFrom: place)
        defer { try? file.close() }
        var hash = SHA256()
        while let piece = try file.read(upToCount: 256 << 10), !piece.isEmpty { hash.update(data: piece) }
        return hash.finalize().hexadecimal
    }
}
