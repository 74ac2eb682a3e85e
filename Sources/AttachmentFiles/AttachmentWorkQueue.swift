import AdapterKit
import Dispatch
import DurableFiles
import Foundation
import RecordStorage
import Synchronization

/// The caller that changes files does so one after the other, on a thread of their own.
final class AttachmentWorkQueue: Sendable {
    private let queue = DispatchQueue(label: "attachments")
    private let turn: Mutex<AttachmentWork>
    private let folders: WatchedPaths

    /// The folders are there.
    init(_ layout: AttachmentLayout, _ clock: any WallClock) {
        folders = WatchedPaths(layout.folders)
        turn = Mutex(AttachmentWork(layout: layout, clock: clock))
    }

    /// Throws ``PorticoError``.
    func take<Result: Sendable>(
        _ body: @escaping @Sendable (inout AttachmentWork) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { answer in
            queue.async { answer.resume(with: Swift.Result { try self.now(body) }) }
        }
    }

    private func now<Result: Sendable>(_ body: (inout AttachmentWork) throws -> Result) throws -> Result {
        try turn.withLock { turn in
            try requireInPlace()
            let result = try asStoreErrors { try body(&turn) }
            // What was put into a folder that is not in its place is lost.
            try requireInPlace()
            return result
        }
    }

    var isInPlace: Bool { folders.misplaced == nil }

    private func requireInPlace() throws(PorticoError) {
        guard isInPlace else {
            throw PorticoError(
                .storeUnavailable, "The attachments are not available.", retryAfter: 30,
                logDetail: "the attachments' folder was moved, deleted or replaced")
        }
    }
}

/// What is known while no other caller changes anything.
struct AttachmentWork {
    let layout: AttachmentLayout
    let clock: any WallClock
    /// Who wants nothing to be removed.
    var holds = 0
    private var counted: AttachmentCapacity?
    /// How long no caller has gone on with an upload before it gives way to its owner's next.
    private static let idle: TimeInterval = 60

    init(layout: AttachmentLayout, clock: any WallClock) {
        self.layout = layout
        self.clock = clock
    }

    var now: Date { Date(timeIntervalSinceReferenceDate: clock.now().secondsSinceReferenceDate) }

    /// The file is in use.
    func touch(_ place: URL) throws {
        try FileManager.default.setAttributes([.modificationDate: now], ofItemAtPath: place.path)
    }

    /// Throws `store.full` or `server.overloaded`. `waits`: whether this begins an upload whose other bytes come later.
    mutating func admit(
        _ bytes: Int64, to upload: AttachmentUpload, waits: Bool, within limits: AttachmentLimits
    ) throws {
        var there = counted ?? count()
        defer { counted = there }
        if waits { try makePlace(for: upload, in: &there, of: limits.uploadsPerPrincipal) }
        guard there.unnamedBytes(of: upload.owner) + bytes <= limits.unnamedPerPrincipal else {
            throw PorticoError(
                .storeFull,
                "Your uploads that no record names take all of their room; name them in records, or wait.")
        }
        guard there.bytes + bytes <= limits.total else {
            throw PorticoError(.storeFull, "There is no room for attachments left.")
        }
        guard !waits || there.count < limits.uploads else {
            throw PorticoError(.overloaded, "Too many uploads are under way.", retryAfter: 60)
        }
    }

    /// Beyond its owner's share, the one of its owner's uploads that was left for longest is removed. One that a caller
    /// is going on with stays: two that took each other's place would both never end.
    private func makePlace(
        for upload: AttachmentUpload, in there: inout AttachmentCapacity, of limit: Int
    ) throws {
        let others = there.uploads[upload.owner] ?? []
        guard others.count >= limit else { return }
        let oldest = others.compactMap { layout.upload(of: $0, by: upload.owner) }.min { $0.used < $1.used }
        guard let oldest, oldest.used.addingTimeInterval(Self.idle) <= now else {
            throw PorticoError(
                .overloaded, "Too many of your uploads are under way; end one, or wait a minute.", retryAfter: 60)
        }
        try FileManager.default.removeItem(at: oldest.place)
        there.remove(oldest.digest, by: upload.owner)
        there.addUploaded(-oldest.size, by: upload.owner)
        there.bytes -= oldest.size
    }

    /// What one upload took before, and takes now. `partial`: of that, what was not yet whole.
    mutating func note(_ upload: AttachmentUpload, before: Int64, partial: Int64) {
        counted?.bytes += upload.taken - before
        counted?.addUploaded((upload.place.fileSize ?? 0) - partial, by: upload.owner)
        if upload.mark.fileSize == 0, let size = upload.goal.fileSize {
            counted?.unnamed[upload.owner, default: [:]][upload.digest] = size
        }
        if upload.place.fileSize == nil {
            counted?.remove(upload.digest, by: upload.owner)
        } else {
            counted?.insert(upload.digest, by: upload.owner)
        }
    }

    /// The largest of an owner's attachments that no record is known to name.
    mutating func largestUnnamed(of owner: String, limit: Int) -> [AttachmentDigest] {
        let there = counted ?? count()
        counted = there
        return (there.unnamed[owner] ?? [:]).sorted { $0.value > $1.value }.prefix(limit).map(\.key)
    }

    /// A record names them, so they do not count as the owner's any more.
    mutating func noteNamed(_ digests: Set<AttachmentDigest>, by owner: String) throws {
        for digest in digests {
            let mark = layout.mark(of: digest, name: owner)
            guard mark.fileSize == 0 else { continue }
            try AttachmentLayout.named.write(to: mark)
            counted?.unnamed[owner]?[digest] = nil
        }
    }

    /// Something was removed: looks again at the next upload.
    mutating func forgetCount() { counted = nil }

    /// Once, and then kept up to date: to look at all files takes long where there are many.
    private func count() -> AttachmentCapacity {
        let partial = layout.partial()
        let complete = layout.complete()
        var room = AttachmentCapacity(
            bytes: (complete + partial).reduce(0) { $0 + $1.size },
            uploads: Dictionary(grouping: partial, by: \.owner).mapValues { Set($0.map(\.digest)) })
        for upload in partial { room.addUploaded(upload.size, by: upload.owner) }
        for found in complete {
            for owner in layout.unnamedOwners(of: found.digest) {
                room.unnamed[owner, default: [:]][found.digest] = found.size
            }
        }
        return room
    }
}

/// The room that attachments take.
struct AttachmentCapacity {
    var bytes: Int64
    /// Under way, by their owners' names in the layout.
    private(set) var uploads: [String: Set<AttachmentDigest>]
    /// Whole ones that no record is known to name, with their sizes, by their owners.
    var unnamed: [String: [AttachmentDigest: Int64]] = [:]
    /// Bytes of uploads under way, by their owners.
    private var uploaded: [String: Int64] = [:]
    /// Of all owners.
    private(set) var count: Int

    init(bytes: Int64, uploads: [String: Set<AttachmentDigest>]) {
        self.bytes = bytes
        self.uploads = uploads
        count = uploads.values.reduce(0) { $0 + $1.count }
    }

    func unnamedBytes(of owner: String) -> Int64 {
        (unnamed[owner] ?? [:]).values.reduce(uploaded[owner] ?? 0, +)
    }

    mutating func addUploaded(_ bytes: Int64, by owner: String) {
        let sum = (uploaded[owner] ?? 0) + bytes
        uploaded[owner] = sum > 0 ? sum : nil
    }

    mutating func insert(_ digest: AttachmentDigest, by owner: String) {
        if uploads[owner, default: []].insert(digest).inserted { count += 1 }
    }

    mutating func remove(_ digest: AttachmentDigest, by owner: String) {
        guard uploads[owner]?.remove(digest) != nil else { return }
        count -= 1
        if uploads[owner]?.isEmpty == true { uploads[owner] = nil }
    }
}

func asStoreErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as PorticoError { throw error } catch {
        let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
        throw PorticoError(
            isFull ? .storeFull : .storeUnavailable, "The attachment cannot be stored or read.", logDetail: "\(error)")
    }
}
