#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads the pages that were committed to SQLite's write-ahead log, each once, in the order of their commits.
///
/// Format: a header of 32 bytes (magic number, version, page size, checkpoint sequence, two salts, checksum), then frames: a
/// header of 24 bytes (page, size of the database in pages where the frame ends a commit, the log's salts, checksum) and
/// the page. A frame counts where its salts are the log's and its checksum, which covers everything from the log's header
/// on, is right; it is committed where it ends a commit or a later one that counts does. All numbers are big-endian; the
/// magic number says in which order the checksum takes its words. Source: https://sqlite.org/fileformat2.html#walformat.
///
/// To be called between two commits only, by a caller that makes every checkpoint itself. Then nothing is missed: SQLite
/// begins the log anew only after a checkpoint has brought every frame into the database, and the caller reads before it
/// makes one. What contradicts that throws ``Discontinuity``.
struct WriteAheadLogReader {
    /// Frames may have been lost: another reader has to begin, with another copy of the database.
    struct Discontinuity: Error {
        let reason: String
    }

    /// One committed page.
    struct Frame {
        let page: UInt32
        /// The size of the database in pages where the frame ends a commit; 0: it does not.
        let databasePages: UInt32
    }

    private struct Header {
        let pageSize: Int
        let sequence: UInt32
        let salts: UInt64
        let takesLittleEndian: Bool
        let checksum: WriteAheadLogChecksum
    }

    /// The place up to which the log was read that the header begins.
    private struct Progress {
        let header: Header
        var frames = 0
        var checksum: WriteAheadLogChecksum
    }

    private let path: String
    private var progress: Progress?
    /// Whether a checkpoint has brought everything that was read into the database, so that the log may begin anew.
    private var isCheckpointed = false

    /// `path`: of the log file.
    init(path: String) {
        self.path = path
    }

    /// Frames of the current log that were read.
    var frames: Int { progress?.frames ?? 0 }

    /// To be called after a checkpoint that followed ``read(_:)`` with no commit in between. `isComplete`: it has brought every
    /// frame into the database.
    mutating func noteCheckpoint(isComplete: Bool) { isCheckpointed = isComplete }

    /// Passes over what is committed so far.
    mutating func skip() throws { try read(isSkipping: true) { _, _ in } }

    /// Calls `take` with each page that was committed since the last call, and its bytes. Throws ``Discontinuity``, what `take`
    /// throws, and ``PosixFailure`` where the file cannot be read; after an error the reader is of no use any more.
    mutating func read(_ take: (Frame, UnsafeRawBufferPointer) throws -> Void) throws {
        try read(isSkipping: false, take)
    }

    private mutating func read(
        isSkipping: Bool, _ take: (Frame, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw PosixFailure(path) }
            return try requireNothingLost()
        }
        // Not the database or its `-shm`: closing one of those would end SQLite's locks on it. The log file has none.
        defer { close(file) }
        guard let header = try header(of: file) else { return try requireNothingLost() }
        if let known = progress, known.header.salts != header.salts {
            guard isCheckpointed, header.sequence == known.header.sequence &+ 1 else {
                throw Discontinuity(reason: "the log began anew before it was read")
            }
            progress = nil
        }
        let begin = progress ?? Progress(header: header, checksum: header.checksum)
        let end = try committedEnd(of: file, after: begin)
        if !isSkipping { try emit(file, begin.frames..<end.frames, header.pageSize, take) }
        if end.frames > begin.frames { isCheckpointed = false }
        progress = end
    }

    private func requireNothingLost() throws {
        guard let progress, progress.frames > 0, !isCheckpointed else { return }
        throw Discontinuity(reason: "the log is gone before it was read")
    }

    /// Nil where there is no log: no header, or one that was not written as a whole.
    private func header(of file: Int32) throws -> Header? {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.headerSize, alignment: 8)
        defer { bytes.deallocate() }
        guard try Self.read(file, at: 0, into: bytes) == Self.headerSize else { return nil }
        let magic = bytes.bigEndian(0)
        let pageSize = Int(bytes.bigEndian(8))
        guard magic & ~1 == 0x377f_0682, (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            return nil
        }
        var checksum = WriteAheadLogChecksum()
        checksum.add(UnsafeRawBufferPointer(rebasing: bytes[..<24]), littleEndian: magic & 1 == 0)
        guard checksum == WriteAheadLogChecksum(bytes.bigEndian(24), bytes.bigEndian(28)) else { return nil }
        return Header(
            pageSize: pageSize, sequence: bytes.bigEndian(12),
            salts: UInt64(bytes.bigEndian(16)) << 32 | UInt64(bytes.bigEndian(20)), takesLittleEndian: magic & 1 == 0,
            checksum: checksum)
    }

    /// The end of the last commit whose frames all count.
    private func committedEnd(of file: Int32, after begin: Progress) throws -> Progress {
        let (header, size) = (begin.header, begin.header.pageSize + Self.frameHeaderSize)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size * Self.framesAtOnce, alignment: 8)
        defer { buffer.deallocate() }
        var (reached, committed) = (begin, begin)
        while true {
            let count = try Self.read(file, at: Self.headerSize + reached.frames * size, into: buffer) / size
            for index in 0..<count {
                let frame = UnsafeRawBufferPointer(rebasing: buffer[index * size..<(index + 1) * size])
                guard frame.bigEndian(0) > 0,
                    UInt64(frame.bigEndian(8)) << 32 | UInt64(frame.bigEndian(12)) == header.salts
                else { return committed }
                reached.checksum.add(
                    UnsafeRawBufferPointer(rebasing: frame[..<8]), littleEndian: header.takesLittleEndian)
                reached.checksum.add(
                    UnsafeRawBufferPointer(rebasing: frame[Self.frameHeaderSize...]),
                    littleEndian: header.takesLittleEndian)
                guard reached.checksum == WriteAheadLogChecksum(frame.bigEndian(16), frame.bigEndian(20)) else {
                    return committed
                }
                reached.frames += 1
                if frame.bigEndian(4) > 0 { committed = reached }
            }
            guard count == Self.framesAtOnce else { return committed }
        }
    }

    private func emit(
        _ file: Int32, _ frames: Range<Int>, _ pageSize: Int, _ take: (Frame, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let size = pageSize + Self.frameHeaderSize
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size * Self.framesAtOnce, alignment: 8)
        defer { buffer.deallocate() }
        var next = frames.lowerBound
        while next < frames.upperBound {
            let count = min(Self.framesAtOnce, frames.upperBound - next)
            let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(count * size)])
            guard try Self.read(file, at: Self.headerSize + next * size, into: wanted) == count * size else {
                throw Discontinuity(reason: "the log became shorter while it was read")
            }
            for index in 0..<count {
                let frame = UnsafeRawBufferPointer(rebasing: buffer[index * size..<(index + 1) * size])
                try take(
                    Frame(page: frame.bigEndian(0), databasePages: frame.bigEndian(4)),
                    UnsafeRawBufferPointer(rebasing: frame[Self.frameHeaderSize...]))
            }
            next += count
        }
    }

    private static let headerSize = 32
    private static let frameHeaderSize = 24
    private static let framesAtOnce = 64

    /// Fewer bytes at the end of the file alone.
    private static func read(_ file: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(file, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw PosixFailure("write-ahead log") }
            if count == 0 { break }
            done += count
        }
        return done
    }
}

/// The checksum of the write-ahead log: two sums over 32-bit words, two words at a time.
/// Source: https://sqlite.org/fileformat2.html#checksum_algorithm.
struct WriteAheadLogChecksum: Equatable {
    private var first: UInt32
    private var second: UInt32

    init(_ first: UInt32 = 0, _ second: UInt32 = 0) {
        (self.first, self.second) = (first, second)
    }

    /// The bytes are a multiple of eight.
    mutating func add(_ bytes: UnsafeRawBufferPointer, littleEndian: Bool) {
        var (first, second) = (first, second)
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
            let (one, other) = (
                bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            )
            first &+= (littleEndian ? UInt32(littleEndian: one) : UInt32(bigEndian: one)) &+ second
            second &+= (littleEndian ? UInt32(littleEndian: other) : UInt32(bigEndian: other)) &+ first
        }
        (self.first, self.second) = (first, second)
    }
}

/// A call of the system that failed, with its `errno`.
struct PosixFailure: Error, CustomStringConvertible {
    let code: Int32
    let description: String

    init(_ what: String) {
        code = errno
        description = "\(what): \(String(cString: strerror(errno)))"
    }
}

extension UnsafeRawBufferPointer {
    /// Within the buffer, which the caller has checked.
    func bigEndian(_ offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func bigEndian(_ offset: Int) -> UInt32 { UnsafeRawBufferPointer(self).bigEndian(offset) }
}
