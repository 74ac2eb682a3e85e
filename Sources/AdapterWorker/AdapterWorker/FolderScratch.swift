import AdapterKit

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Files in the worker's own folder, each without a name from the moment it is made.
struct FolderScratch: ScratchStorage {
    let folder: String

    func create() throws -> any ScratchFile {
        var template = Array("\(folder)/scratch-XXXXXX".utf8CString)
        let descriptor = template.withUnsafeMutableBufferPointer { $0.baseAddress.map { mkstemp($0) } ?? -1 }
        guard descriptor >= 0 else { throw Self.failure(errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = template.withUnsafeBufferPointer { $0.baseAddress.map { unlink($0) } }
        return UnnamedFile(descriptor)
    }

    static func failure(_ code: Int32) -> PorticoError {
        PorticoError(
            code == ENOSPC || code == EDQUOT ? .storeFull : .storeUnavailable, "A file could not be written.",
            logDetail: String(cString: strerror(code)))
    }
}

private final class UnnamedFile: ScratchFile {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    func append(_ bytes: [UInt8]) throws {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress?.advanced(by: offset), bytes.count - offset)
            }
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw FolderScratch.failure(errno)
            }
            offset += count
        }
    }

    func contents() throws -> any ByteStream {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { throw FolderScratch.failure(errno) }
        return FilePieces(self, count: Int(end))
    }

    fileprivate func read(at offset: Int, _ count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let read = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            guard read >= 0 else { throw FolderScratch.failure(errno) }
            initialized = read
        }
    }
}

/// What a file held when its reading began. The file stays while it is read.
private actor FilePieces: ByteStream {
    private static let pieceBytes = 64 << 10
    private let file: UnnamedFile
    private let count: Int
    private var offset = 0

    init(_ file: UnnamedFile, count: Int) {
        self.file = file
        self.count = count
    }

    func next() throws -> [UInt8]? {
        guard offset < count else { return nil }
        let piece = try file.read(at: offset, min(Self.pieceBytes, count - offset))
        offset += piece.count
        return piece.isEmpty ? nil : piece
    }

    nonisolated func cancel() {}
}
