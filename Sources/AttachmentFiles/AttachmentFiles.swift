import AdapterKit
import Crypto
import Foundation
import SyncEngine
import Synchronization

/// Attachments as files: `complete/ab/abcd…`, and `partial/OWNER-abcd…` while they are uploaded.
///
/// A file gets its final name only when its bytes are on the disk and are what the name says, so a crash leaves a partial
/// upload, which goes on, and never a wrong attachment.
public final class AttachmentFiles: AttachmentStore {
    private let complete: URL
    private let partial: URL
    private let largest: Int64
    /// One upload is written at a time.
    private let turn = Mutex(())

    /// `largest`: bytes that one attachment may have.
    public init(in directory: URL, largest: Int) throws {
        complete = directory.appendingPathComponent("complete")
        partial = directory.appendingPathComponent("partial")
        self.largest = Int64(largest)
        for folder in [complete, partial] {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    public func size(of digest: AttachmentDigest) async throws -> Int64? { Self.size(of: place(of: digest)) }

    public func progress(of digest: AttachmentDigest, from owner: String) async throws -> AttachmentProgress {
        if Self.size(of: place(of: digest)) != nil { return .complete }
        return .received(Self.size(of: place(of: digest, from: owner)) ?? 0)
    }

    public func append(
        _ bytes: [UInt8], at offset: Int64, of total: Int64, to digest: AttachmentDigest, from owner: String
    ) async throws -> AttachmentProgress {
        guard (0...largest).contains(total), offset >= 0, offset + Int64(bytes.count) <= total else {
            throw PorticoError(.requestTooLarge, "An attachment has at most \(largest) bytes.")
        }
        return try turn.withLock { _ in
            try Self.asStoreErrors {
                let upload = AttachmentUpload(
                    place: place(of: digest, from: owner), goal: place(of: digest), digest: digest, total: total)
                return try upload.append(bytes, at: offset)
            }
        }
    }

    public func read(_ digest: AttachmentDigest, from offset: Int64, count: Int) async throws -> [UInt8] {
        try Self.asStoreErrors {
            let file = try FileHandle(forReadingFrom: place(of: digest))
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(offset))
            return Array(try file.read(upToCount: count) ?? Data())
        }
    }

    private func place(of digest: AttachmentDigest) -> URL {
        complete.appendingPathComponent(String(digest.text.prefix(2))).appendingPathComponent(digest.text)
    }

    /// An owner's id may be anything, its digest is a file name.
    private func place(of digest: AttachmentDigest, from owner: String) -> URL {
        let name = SHA256.hash(data: Array(owner.utf8)).prefix(16).hexadecimal
        return partial.appendingPathComponent("\(name)-\(digest.text)")
    }

    static func size(of place: URL) -> Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: place.path)
        return (attributes?[.size] as? NSNumber)?.int64Value
    }

    private static func asStoreErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as PorticoError { throw error } catch {
            let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
            throw PorticoError(
                isFull ? .storeFull : .storeUnavailable, "The attachment cannot be stored or read.",
                logDetail: "\(error)")
        }
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String {
        reduce(into: "") { text, byte in
            let digits = String(byte, radix: 16)
            text += digits.utf8.count == 1 ? "0\(digits)" : digits
        }
    }
}
