import AdapterKit
import Dispatch
import DurableFiles
import Foundation
import SyncEngine
import Synchronization

/// Whoever changes files does so one after the other, on a thread of their own.
final class AttachmentTurns: Sendable {
    private let queue = DispatchQueue(label: "attachments")
    private let turn: Mutex<AttachmentTurn>
    private let folders: WatchedPaths

    /// The folders are there.
    init(_ layout: AttachmentLayout, _ clock: any WallClock) {
        folders = WatchedPaths(layout.folders)
        turn = Mutex(AttachmentTurn(layout: layout, clock: clock))
    }

    /// Throws ``PorticoError``.
    func take<Result: Sendable>(
        _ body: @escaping @Sendable (inout AttachmentTurn) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { answer in
            queue.async { answer.resume(with: Swift.Result { try self.now(body) }) }
        }
    }

    private func now<Result: Sendable>(_ body: (inout AttachmentTurn) throws -> Result) throws -> Result {
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

/// What is known while nobody else changes anything.
struct AttachmentTurn {
    let layout: AttachmentLayout
    let clock: any WallClock
    /// Who wants nothing to be removed.
    var holds = 0
    private var counted: AttachmentCapacity?
    /// How long nobody has gone on with an upload before it gives way to its owner's next.
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
        guard there.bytes + bytes <= limits.total else {
            throw PorticoError(.storeFull, "There is no room for attachments left.")
        }
        guard !waits || there.count < limits.uploads else {
            throw PorticoError(.overloaded, "Too many uploads are under way.", retryAfter: 60)
        }
    }

    /// Beyond its owner's share, the one of its owner's uploads that was left for longest is removed. One that somebody
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
        there.bytes -= oldest.size
    }

    /// What one upload took before, and takes now.
    mutating func note(_ upload: AttachmentUpload, before: Int64) {
        counted?.bytes += upload.taken - before
        if upload.place.fileSize == nil {
            counted?.remove(upload.digest, by: upload.owner)
        } else {
            counted?.insert(upload.digest, by: upload.owner)
        }
    }

    /// Something was removed: looks again at the next upload.
    mutating func forgetCount() { counted = nil }

    /// Once, and then kept up to date: to look at all files takes long where there are many.
    private func count() -> AttachmentCapacity {
        let partial = layout.partial()
        return AttachmentCapacity(
            bytes: (layout.complete() + partial).reduce(0) { $0 + $1.size },
            uploads: Dictionary(grouping: partial, by: \.owner).mapValues { Set($0.map(\.digest)) })
    }
}

/// The room that attachments take.
struct AttachmentCapacity {
    var bytes: Int64
    /// Under way, by their owners' names in the layout.
    private(set) var uploads: [String: Set<AttachmentDigest>]
    /// Of all owners.
    private(set) var count: Int

    init(bytes: Int64, uploads: [String: Set<AttachmentDigest>]) {
        self.bytes = bytes
        self.uploads = uploads
        count = uploads.values.reduce(0) { $0 + $1.count }
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
