import AdapterKit
import Dispatch
import DurableFiles
import Foundation
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
    private var counted: AttachmentRoom?

    init(layout: AttachmentLayout, clock: any WallClock) {
        self.layout = layout
        self.clock = clock
    }

    var now: Date { Date(timeIntervalSinceReferenceDate: clock.now().secondsSinceReferenceDate) }

    /// The file is in use.
    func touch(_ place: URL) throws {
        try FileManager.default.setAttributes([.modificationDate: now], ofItemAtPath: place.path)
    }

    /// Throws `store.full` or `server.overloaded`.
    mutating func admit(_ bytes: Int64, isNew: Bool, within limits: AttachmentLimits) throws {
        let there = counted ?? count()
        counted = there
        guard there.bytes + bytes <= limits.total else {
            throw PorticoError(.storeFull, "There is no room for attachments left.")
        }
        guard !isNew || there.uploads < limits.uploads else {
            throw PorticoError(.overloaded, "Too many uploads are under way.", retryAfter: 60)
        }
    }

    /// What one upload took before and takes now.
    mutating func note(_ before: AttachmentRoom, _ after: AttachmentRoom) {
        counted?.bytes += after.bytes - before.bytes
        counted?.uploads += after.uploads - before.uploads
    }

    /// Something was removed: looks again at the next upload.
    mutating func forgetCount() { counted = nil }

    /// Once, and then kept up to date: to look at all files takes long where there are many.
    private func count() -> AttachmentRoom {
        let partial = layout.partial()
        return AttachmentRoom(
            bytes: (layout.complete() + partial).reduce(0) { $0 + $1.size }, uploads: partial.count)
    }
}

/// The room that attachments take.
struct AttachmentRoom {
    var bytes: Int64
    /// Under way.
    var uploads: Int
}

func asStoreErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as PorticoError { throw error } catch {
        let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
        throw PorticoError(
            isFull ? .storeFull : .storeUnavailable, "The attachment cannot be stored or read.", logDetail: "\(error)")
    }
}
