import AdapterKit
import DurableFiles
import Foundation
import GRDB
import RecordStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A store that hands out what it commits page by page, for backups that follow it.
public protocol PageLoggedStore: Store {
    /// Begins a log of the pages that are committed from now on. One at a time: end the one before first.
    ///
    /// `stream`: 32 hexadecimal digits that no other log has. `folder`: is there and empty. `limit`: bytes that the pieces in
    /// it may have together.
    func openPageLog(stream: String, in folder: String, limit: Int64) async throws -> PageLog

    /// Copies the database as it is within one transaction into a new file, page by page, while others write. Throws
    /// `store.full` without capacity.
    func copyDatabase(to path: String) async throws -> BackupSummary

    /// Bytes of the database file. Asks the file system.
    var databaseBytes: Int64 { get }
}

/// The pages that a store commits, as pieces in a folder: with a copy of the database they make every later state of it.
///
/// While it is open, the store makes no checkpoint but in ``collect()``, which reads the write-ahead log to its end first,
/// between two commits. So SQLite never begins the log anew before it was read (``WriteAheadLogReader``). A copy of the
/// database that begins after one ``collect()`` and ends before another is completed by the pieces in between: they hold every
/// page that was changed since its snapshot, or before it with the same or a later content.
///
/// It ends, and the store makes its checkpoints again as before, with ``end()``, where a piece cannot be written, where the
/// pieces in the folder become too many, and where the log began anew unread, as after a failure of the disk.
public final class PageLog: Sendable {
    /// The place up to which the log has come.
    public struct Position: Sendable, Equatable {
        /// The number of the last piece; 0: none yet.
        public let number: Int64
        /// Its digest, or ``PageLogSegment/noDigest``.
        public let digest: String

        public init(number: Int64, digest: String) {
            (self.number, self.digest) = (number, digest)
        }
    }

    private struct State {
        var reader: WriteAheadLogReader
        var position = Position(number: 0, digest: PageLogSegment.noDigest)
        let recoveries: Int
        /// Why it has ended; nil: it has not.
        var end: PorticoError?
    }

    /// 32 hexadecimal digits, other ones for each log.
    public let stream: String
    private let folder: String
    /// Bytes that the pieces in the folder may have together.
    private let limit: Int64
    private let writer: Writer
    private let commit: GroupCommit
    private let state: Mutex<State>

    private init(
        stream: String, folder: String, limit: Int64, writer: Writer, commit: GroupCommit, reader: WriteAheadLogReader
    ) {
        (self.stream, self.folder, self.limit, self.writer, self.commit) = (stream, folder, limit, writer, commit)
        state = Mutex(State(reader: reader, recoveries: commit.recoveries))
    }

    /// Begins with what is committed from now on. `log`: the path of the write-ahead log.
    static func begin(
        stream: String, in folder: String, limit: Int64, writer: Writer, log: String
    ) async throws -> PageLog {
        let commit = writer.commit
        return try await writer.run { database in
            try setAutomaticCheckpoint(after: 0, database)
            var reader = WriteAheadLogReader(path: log)
            try reader.skip()
            return PageLog(
                stream: stream, folder: folder, limit: limit, writer: writer, commit: commit, reader: reader)
        }
    }

    /// The file of a piece that was collected; the caller removes it once it needs it no more.
    public func path(of number: Int64) -> String { "\(folder)/\(number).pages" }

    /// Writes what was committed so far into pieces, and makes a checkpoint where the write-ahead log has grown. Returns the last
    /// piece. Throws ``PorticoError`` once the log has ended.
    public func collect() async throws -> Position {
        let result = try await writer.run { [self] database in
            state.withLock { state in
                Result<Position, any Error> {
                    if let end = state.end { throw end }
                    do { return try collect(&state, database) } catch {
                        state.end = Self.reason(error)
                        Self.makeCheckpointsItself(database)
                        throw state.end ?? .closed
                    }
                }
            }
        }
        return try result.get()
    }

    /// Has the store make its checkpoints as without a log. Nothing is collected any more.
    public func end() async {
        try? await writer.run { [self] database in
            state.withLock { state in
                guard state.end == nil else { return }
                state.end = .closed
                Self.makeCheckpointsItself(database)
            }
        }
    }

    private func collect(_ state: inout State, _ database: Database) throws -> Position {
        guard commit.recoveries == state.recoveries else {
            throw WriteAheadLogReader.Discontinuity(reason: "the disk has failed")
        }
        guard try bytesInFolder() <= limit else { throw Self.tooMany }
        var builder = PageLogSegmentBuilder(
            stream: stream, number: state.position.number + 1, previous: state.position.digest)
        var pages: UInt32 = 0
        func cut(_ position: inout Position) throws {
            let (bytes, digest) = builder.finish(databasePages: pages)
            try write(bytes, to: path(of: builder.number))
            position = Position(number: builder.number, digest: digest)
            builder = PageLogSegmentBuilder(stream: stream, number: position.number + 1, previous: digest)
        }
        var position = state.position
        try state.reader.read { frame, bytes in
            if builder.isFull { try cut(&position) }
            builder.add(frame.page, bytes)
            pages = frame.databasePages
        }
        if !builder.isEmpty { try cut(&position) }
        state.position = position
        if state.reader.frames >= Self.framesOfACheckpoint {
            // One that fails, or is interrupted, has lost nothing.
            let isComplete = try? database.row("PRAGMA wal_checkpoint(PASSIVE)") {
                $0.integer(0) == 0 && $0.integer(1) == $0.integer(2)
            }
            state.reader.noteCheckpoint(isComplete: isComplete ?? false)
        }
        return position
    }

    /// As SQLite does by itself.
    private static let framesOfACheckpoint = 1_000

    /// SQLite does it while it compiles the statement: one that is kept, and not compiled again, would do nothing.
    private static func setAutomaticCheckpoint(after frames: Int, _ database: Database) throws {
        try database.execute(sql: "PRAGMA wal_autocheckpoint = \(frames)")
    }

    private static func makeCheckpointsItself(_ database: Database) {
        try? setAutomaticCheckpoint(after: framesOfACheckpoint, database)
    }

    private static let tooMany = PorticoError(
        .storeFull, "The log of the backup was given up: its target has taken nothing for too long.")

    private static func reason(_ error: any Error) -> PorticoError {
        switch error {
        case let error as PorticoError: error
        case let error as WriteAheadLogReader.Discontinuity:
            PorticoError(.storeUnavailable, "The log of the backup has a gap.", logDetail: error.reason)
        case let error as PosixFailure where error.code == ENOSPC:
            PorticoError(
                .storeFull, "The disk is full: the log of the backup cannot be kept.", logDetail: error.description)
        default:
            PorticoError(.storeUnavailable, "The log of the backup cannot be kept.", logDetail: "\(error)")
        }
    }

    private func bytesInFolder() throws -> Int64 {
        try FileManager.default.contentsOfDirectory(atPath: folder).reduce(0) { sum, name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            return sum + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
        }
    }

    /// Not flushed: what a power failure takes of it, it takes of this log's end, and the next start begins another.
    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw PosixFailure(path) }
        defer { close(file) }
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = systemWrite(file, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw PosixFailure(path) }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}

/// The system's function, whose name methods here hide.
private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }

/// Puts the pieces of a page log into a copy of the database that no process has open.
public struct PageLogReplay {
    private let file: Int32
    private let stream: String
    private var next: PageLog.Position
    /// Pieces of a commit that goes on.
    private var waiting: [String] = []
    /// The last piece whose commit is in the copy.
    public private(set) var applied: Int64

    /// `position`: of the log when the copy was begun. Throws ``PorticoError`` where the file cannot be written.
    public init(into path: String, stream: String, after position: PageLog.Position) throws(PorticoError) {
        file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            throw PorticoError(
                .storeUnavailable, "The copy cannot be written.", logDetail: String(cString: strerror(errno)))
        }
        (self.stream, next, applied) = (stream, position, position.number)
    }

    /// Takes the next piece from a file, which stays until its commit is whole. Throws `store.unavailable` for one that is damaged,
    /// or is not the next one.
    public mutating func add(_ path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw PageLogSegment.damaged("it cannot be read")
        }
        let segment = try PageLogSegment(Array(data))
        guard segment.stream == stream, segment.number == next.number + 1, segment.previous == next.digest else {
            throw PageLogSegment.damaged("it does not follow the one before")
        }
        next = PageLog.Position(number: segment.number, digest: segment.digest)
        waiting.append(path)
        guard segment.endsCommit else { return }
        for path in waiting.dropLast() {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw PageLogSegment.damaged("it cannot be read")
            }
            try write(try PageLogSegment(Array(data)), upTo: segment.databasePages)
        }
        try write(segment, upTo: segment.databasePages)
        guard ftruncate(file, off_t(segment.pageSize) * off_t(segment.databasePages)) == 0 else { throw failure() }
        for path in waiting { try? FileManager.default.removeItem(atPath: path) }
        waiting = []
        applied = segment.number
    }

    /// The position after the last piece that was taken.
    public var position: PageLog.Position { next }

    /// Makes the file durable and closes it. To be called once, whatever happened.
    public consuming func finish() throws {
        for path in waiting { try? FileManager.default.removeItem(atPath: path) }
        let isDurable = fsync(file) == 0
        close(file)
        guard isDurable else { throw failure() }
    }

    private func write(_ segment: PageLogSegment, upTo pages: UInt32) throws {
        try segment.forEachPage { page, bytes in
            guard page >= 1, page <= pages else { return }
            let offset = off_t(page - 1) * off_t(bytes.count)
            var done = 0
            while done < bytes.count {
                let count = pwrite(
                    file, bytes.baseAddress?.advanced(by: done), bytes.count - done, offset + off_t(done))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure() }
                done += count
            }
        }
    }

    private func failure() -> PorticoError {
        errno == ENOSPC
            ? PorticoError(.storeFull, "The disk is full: the copy cannot be written.")
            : PorticoError(
                .storeUnavailable, "The copy cannot be written.", logDetail: String(cString: strerror(errno)))
    }
}

extension BackupSummary {
    /// Reads a whole copy of a store that no process has open, and what it holds. Throws `store.unavailable` where anything is
    /// wrong with it, or its log has a gap.
    public static func ofCopy(at path: String) async throws -> BackupSummary {
        try await DedicatedThread.run(label: "store.verification") {
            try StoreRestore.makeSingleFile(path)
            return try checking(path)
        }
    }
}
