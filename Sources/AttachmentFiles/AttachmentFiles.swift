import AdapterKit
import Foundation
import RecordStorage
import Synchronization

/// Attachments as files: `complete/ab/abcd…`, `partial/OWNER-abcd…` while they are uploaded, and `uploaders/ab/abcd…/OWNER`
/// for the caller that has uploaded the whole. A backup leaves the last out: who has not named an upload yet uploads again.
///
/// A file gets its final name only when its bytes are on the disk and are what the name says, so a crash leaves a partial
/// upload, which goes on, and never a wrong attachment. A file's time of modification is when it was last in use. What
/// changes files waits for its turn on a thread of its own: no caller who serves others waits for the disk.
public final class AttachmentFiles: AttachmentStore {
    /// In the data directory.
    public static let folderName = "attachments"

    let layout: AttachmentLayout
    private let currentLimits: Mutex<AttachmentLimits>
    let turns: AttachmentWorkQueue

    /// Takes in what a restore has laid beside it.
    public init(in directory: URL, limits: AttachmentLimits, clock: any WallClock) throws {
        layout = AttachmentLayout(directory)
        currentLimits = Mutex(limits)
        try layout.make()
        try AttachmentRestore(into: directory).finish()
        turns = AttachmentWorkQueue(layout, clock)
    }

    private var limits: AttachmentLimits { currentLimits.withLock { $0 } }

    /// For what comes from now on. What there is stays, whatever the limits are.
    public func use(_ limits: AttachmentLimits) { currentLimits.withLock { $0 = limits } }

    /// Whether the folders are those that there were at the start.
    public var isInPlace: Bool { turns.isInPlace }

    /// Whether a directory holds attachments, before it is opened.
    public static func areKept(in directory: URL) -> Bool {
        let layout = AttachmentLayout(directory)
        return !layout.complete().isEmpty
    }

    public func size(of digest: AttachmentDigest) async throws -> Int64? { layout.place(of: digest).fileSize }

    public func hasUploaded(_ digest: AttachmentDigest, by owner: String) async throws -> Bool {
        isComplete(digest, from: owner)
    }

    private func isComplete(_ digest: AttachmentDigest, from owner: String) -> Bool {
        layout.place(of: digest).fileSize != nil && layout.mark(of: digest, by: owner).fileSize != nil
    }

    public func progress(of digest: AttachmentDigest, from owner: String) async throws -> AttachmentProgress {
        let (place, partial) = (layout.place(of: digest), layout.place(of: digest, from: owner))
        return try await turns.take { turn in
            guard self.isComplete(digest, from: owner) else { return .received(partial.fileSize ?? 0) }
            try turn.touch(place)
            return .complete
        }
    }

    public func append(
        _ bytes: [UInt8], at offset: Int64, of total: Int64, to digest: AttachmentDigest, from owner: String
    ) async throws -> AttachmentProgress {
        let (layout, limits) = (layout, limits)
        guard (0...limits.each).contains(total), offset >= 0, offset + Int64(bytes.count) <= total else {
            throw PorticoError(.requestTooLarge, "An attachment has at most \(limits.each) bytes.")
        }
        return try await turns.take { turn in
            let upload = AttachmentUpload(
                owner: layout.name(of: owner), place: layout.place(of: digest, from: owner),
                goal: layout.place(of: digest),
                mark: layout.mark(of: digest, by: owner), digest: digest, total: total, now: turn.now)
            // What comes whole waits for nothing, and a piece that leaves a gap is refused.
            let waits = offset == 0 && Int64(bytes.count) < total && upload.place.fileSize == nil
            try turn.admit(Int64(bytes.count), to: upload, waits: waits, within: limits)
            let (before, partial) = (upload.taken, upload.place.fileSize ?? 0)
            defer { turn.note(upload, before: before, partial: partial) }
            return try upload.append(bytes, at: offset)
        }
    }

    public func largestUnnamed(of owner: String, limit: Int) async throws -> [AttachmentDigest] {
        let name = layout.name(of: owner)
        return try await turns.take { $0.largestUnnamed(of: name, limit: limit) }
    }

    public func noteNamed(_ digests: Set<AttachmentDigest>, by owner: String) async throws {
        let name = layout.name(of: owner)
        try await turns.take { try $0.noteNamed(digests, by: name) }
    }

    public func read(_ digest: AttachmentDigest, from offset: Int64, count: Int) async throws -> [UInt8] {
        try asStoreErrors {
            let file = try FileHandle(forReadingFrom: layout.place(of: digest))
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(offset))
            return Array(try file.read(upToCount: count) ?? Data())
        }
    }

    /// The whole attachments of the folders in which something has come or gone since `marks` were set, which it sets anew;
    /// those of all folders for no marks. It waits for the disk.
    public func wholeAttachments(changedSince marks: inout AttachmentFolderMarks) -> [StoredAttachment] {
        layout.completeFolders().flatMap { folder -> [StoredAttachment] in
            guard marks.noteChange(of: folder) else { return [] }
            return layout.complete(in: folder).map {
                StoredAttachment(digest: $0.digest, path: $0.place.path, size: $0.size)
            }
        }
    }

    public func copyAll(into directory: String) throws -> AttachmentCopies {
        try asStoreErrors {
            try AttachmentCopy(into: URL(filePath: directory).appending(path: Self.folderName)).run(layout.complete())
        }
    }
}

/// A whole attachment in its file.
public struct StoredAttachment: Sendable, Equatable {
    public let digest: AttachmentDigest
    public let path: String
    /// Bytes.
    public let size: Int64
}

/// When something last came into folders of attachments, or went, as far as it is known.
public struct AttachmentFolderMarks: Sendable {
    /// How long a folder that has changed is looked into again: what comes within one tick of the file system's clock leaves no
    /// trace of its own.
    private static let ambiguity = 2.0

    private var changes: [URL: Date] = [:]

    public init() {}

    /// Whether the folder may have changed.
    mutating func noteChange(of folder: URL) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path)
        guard let changed = attributes?[.modificationDate] as? Date else { return false }
        guard changes[folder] != changed else { return false }
        changes[folder] = Date().timeIntervalSince(changed) > Self.ambiguity ? changed : nil
        return true
    }
}

/// How much there may be.
public struct AttachmentLimits: Sendable, Equatable {
    /// `sync.limits.attachment`: bytes of one.
    public var each: Int64
    /// `sync.limits.attachments`: bytes of all, uploads under way too.
    public var total: Int64
    /// `sync.limits.uploads`: uploads under way.
    public var uploads: Int
    /// `sync.limits.uploadsPerPrincipal`: those of one owner.
    public var uploadsPerPrincipal: Int
    /// `sync.limits.unnamedPerPrincipal`: bytes that one owner has uploaded, in part or whole, and no record names.
    public var unnamedPerPrincipal: Int64

    public init(
        each: Int64 = 256 << 20, total: Int64 = 64 << 30, uploads: Int = 10_000, uploadsPerPrincipal: Int = 32,
        unnamedPerPrincipal: Int64 = 8 << 30
    ) {
        self.unnamedPerPrincipal = unnamedPerPrincipal
        self.each = each
        self.total = total
        self.uploads = uploads
        self.uploadsPerPrincipal = uploadsPerPrincipal
    }
}

extension AttachmentFiles {
    public func unused(since instant: WireDate) async throws -> Set<AttachmentDigest> {
        let (layout, latest) = (layout, Date(instant))
        return try await turns.take { _ in Set(layout.complete().filter { $0.used < latest }.map(\.digest)) }
    }

    public func keep(_ digests: Set<AttachmentDigest>) async throws {
        let places = digests.map(layout.place(of:))
        try await turns.take { turn in
            for place in places where place.fileSize != nil { try turn.touch(place) }
        }
    }

    public func remove(
        _ digests: Set<AttachmentDigest>, unusedSince instant: WireDate
    ) async throws -> AttachmentRemoval {
        let (layout, latest) = (layout, Date(instant))
        return try await turns.take { turn in
            var removal = AttachmentRemoval()
            guard turn.holds == 0 else { return removal }
            for found in layout.complete() where digests.contains(found.digest) && found.used < latest {
                try turn.remove(found)
                try? FileManager.default.removeItem(at: layout.marks(of: found.digest))
                removal.attachments += 1
                removal.bytes += found.size
            }
            for found in layout.partial() where found.used < latest {
                try turn.remove(found)
                removal.uploads += 1
                removal.bytes += found.size
            }
            return removal
        }
    }

    public func withoutRemoval<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await turns.take { $0.holds += 1 }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try await turns.take { $0.holds -= 1 }
        return try result.get()
    }
}

extension AttachmentWork {
    fileprivate mutating func remove(_ found: AttachmentLayout.Found) throws {
        try FileManager.default.removeItem(at: found.place)
        forgetCount()
    }
}

extension Date {
    fileprivate init(_ instant: WireDate) {
        self.init(timeIntervalSinceReferenceDate: instant.secondsSinceReferenceDate)
    }
}
