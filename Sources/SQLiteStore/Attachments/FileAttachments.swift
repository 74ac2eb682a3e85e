import AdapterKit
import Foundation
import SyncEngine
import Synchronization

/// Attachments as files of one directory beside the store: `ab/abcdef…` whole and checked, `uploads/abcdef…` under way.
///
/// A file gets its name as a whole one only after its bytes were read back, had the digest and were on the disk, so what
/// is there after a crash needs no check. Uploads survive crashes as far as they were answered. One process has the
/// directory: the one that has the store's lock.
public final class FileAttachments: Attachments {
    private let directory: URL
    private let limits: AttachmentLimits
    private let clock: any WallClock
    private let state: Mutex<State>

    private struct State {
        /// Bytes of everything that is there.
        var total: Int64
        /// Uploads that a call is working on.
        var busy: Set<AttachmentDigest> = []
    }

    public init(directory: String, limits: AttachmentLimits = AttachmentLimits(), clock: any WallClock) throws {
        self.directory = URL(filePath: directory)
        self.limits = limits
        self.clock = clock
        try FileManager.default.createDirectory(
            at: self.directory.appending(path: "uploads"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let files = AttachmentFiles(directory: self.directory)
        state = Mutex(State(total: (files.whole() + files.uploads()).reduce(0) { $0 + $1.size }))
    }

    public func size(of digest: AttachmentDigest) async throws -> Int64? { files.size(files.place(of: digest)) }

    public func uploaded(_ digest: AttachmentDigest) async throws -> Int64 {
        files.size(files.place(of: digest)) ?? files.size(files.upload(of: digest)) ?? 0
    }

    public func read(_ digest: AttachmentDigest, from offset: Int64, count: Int) async throws -> [UInt8] {
        let place = files.place(of: digest)
        return try await OwnThread.run(label: "store.attachments") {
            guard let file = FileHandle(forReadingAtPath: place.path) else {
                throw PorticoError(.recordNotFound, "There is no such attachment.")
            }
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(max(0, offset)))
            return [UInt8](try file.read(upToCount: count) ?? Data())
        }
    }

    public func append(
        _ bytes: [UInt8], to digest: AttachmentDigest, at offset: Int64, of size: Int64
    ) async throws -> AttachmentUpload {
        if let size = try await self.size(of: digest) { return AttachmentUpload(offset: size, isComplete: true) }
        try admit(bytes.count, to: digest, at: offset, of: size)
        defer { state.withLock { _ = $0.busy.remove(digest) } }
        let upload = AttachmentAppend(files: files, digest: digest, offset: offset, size: size)
        do {
            return try await OwnThread.run(label: "store.attachments") { try upload.run(bytes) }
        } catch {
            state.withLock { $0.total = files.total }
            throw error
        }
    }

    public func collect(
        isReferred: @Sendable (AttachmentDigest) async throws -> Bool
    ) async throws -> AttachmentCollection {
        var collected = AttachmentCollection()
        let latest = clock.now().secondsSince1970 - limits.window
        for file in files.uploads() where file.modified < latest && remove(file) {
            collected.uploads += 1
            collected.bytes += file.size
        }
        for file in files.whole() where file.modified < latest {
            if try await isReferred(file.digest) { continue }
            guard remove(file) else { continue }
            collected.attachments += 1
            collected.bytes += file.size
        }
        return collected
    }

    private var files: AttachmentFiles { AttachmentFiles(directory: directory) }

    private func remove(_ file: AttachmentFiles.Found) -> Bool {
        state.withLock { state in
            guard !state.busy.contains(file.digest) else { return false }
            guard (try? FileManager.default.removeItem(at: file.url)) != nil else { return false }
            state.total -= file.size
            return true
        }
    }

    private func admit(_ count: Int, to digest: AttachmentDigest, at offset: Int64, of size: Int64) throws {
        guard size <= limits.size, size >= 0, offset >= 0, offset + Int64(count) <= size else {
            throw PorticoError(.requestTooLarge, "An attachment has at most \(limits.size) bytes.", target: "size")
        }
        let isNew = files.size(files.upload(of: digest)) == nil
        if isNew, files.uploads().count >= limits.uploads {
            throw PorticoError(.overloaded, "Too many uploads are under way.", retryAfter: 60)
        }
        try state.withLock { state in
            guard !state.busy.contains(digest) else {
                throw PorticoError(.preconditionFailed, "Somebody else uploads this.", retryAfter: 1)
            }
            guard state.total + Int64(count) <= limits.total else {
                throw PorticoError(.storeFull, "There is no room for attachments left.")
            }
            state.busy.insert(digest)
            state.total += Int64(count)
        }
    }
}
