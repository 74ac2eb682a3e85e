import AdapterKit
import DurableFiles
import Foundation
import RecordStorage

/// One owner's upload of one attachment.
struct AttachmentUpload {
    /// Its owner's name in the layout.
    let owner: String
    let place: URL
    let goal: URL
    /// There once the owner has uploaded the whole.
    let mark: URL
    let digest: AttachmentDigest
    let total: Int64
    let now: Date

    /// What it takes now, whole or in part.
    var taken: Int64 { (place.fileSize ?? 0) + (goal.fileSize ?? 0) }

    func append(_ bytes: [UInt8], at offset: Int64) throws -> AttachmentProgress {
        guard goal.fileSize == nil || mark.fileSize == nil else { return .complete }
        let received = place.fileSize ?? 0
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
        guard try FileDigest.of(place) == digest.text else {
            try FileManager.default.removeItem(at: place)
            throw PorticoError(.requestInvalid, "The bytes are not what the digest says.", target: "sha256")
        }
        if goal.fileSize == nil {
            try makeFolder(of: goal)
            try DurableFiles.move(place.path, to: goal.path)
        } else {
            // Another caller's upload of the same bytes: one copy is enough, and it is in use now.
            try FileManager.default.setAttributes([.modificationDate: now], ofItemAtPath: goal.path)
            try FileManager.default.removeItem(at: place)
        }
        try makeFolder(of: mark)
        guard FileManager.default.createFile(atPath: mark.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        try DurableFiles.flush(mark.deletingLastPathComponent().path)
    }

    private func makeFolder(of file: URL) throws {
        let folder = file.deletingLastPathComponent()
        try folder.makeDirectory()
        try DurableFiles.flush(folder.deletingLastPathComponent().path)
    }
}
