import AdapterKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Changes of files that survive a power failure once they have returned.
public enum DurableFiles {
    /// A file's bytes, or a directory's names.
    public static func flush(_ path: String) throws(PorticoError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }

    /// Within one file system; replaces what is there.
    public static func move(_ from: String, to: String) throws(PorticoError) {
        guard rename(from, to) == 0 else { throw failure(to) }
        try flush(directory(of: to))
    }

    /// A file that may be there.
    public static func remove(_ path: String) throws(PorticoError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(path) }
    }

    /// Whether a path leads to a regular file, by itself and not by a link, that has no other name.
    public static func isPlainFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
    }

    /// Writes a small file as a whole: after a crash it has its old content or the new one.
    public static func write(_ bytes: [UInt8], to path: String) throws(PorticoError) {
        let unfinished = path + ".new"
        unlink(unfinished)
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard bytes.withUnsafeBytes({ posixWrite(descriptor, $0.baseAddress, bytes.count) }) == bytes.count,
            fsync(descriptor) == 0
        else { throw failure(path) }
        try move(unfinished, to: path)
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func failure(_ path: String) -> PorticoError {
        let code: ErrorCode = errno == ENOSPC ? .storeFull : .storeUnavailable
        return PorticoError(
            code, "A file cannot be written.",
            logDetail: "\(path): \(String(cString: strerror(errno)))")
    }
}

/// The system's function, whose name ``DurableFiles/write(_:to:)`` hides.
private func posixWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
