import AdapterKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Changes of files that survive a power failure once they have returned.
enum DurableFiles {
    /// A file's bytes, or a directory's names.
    static func flush(_ path: String) throws(PorticoError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }

    /// Within one file system; replaces what is there.
    static func move(_ from: String, to: String) throws(PorticoError) {
        guard rename(from, to) == 0 else { throw failure(to) }
        try flush(directory(of: to))
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func failure(_ path: String) -> PorticoError {
        let code: ErrorCode = errno == ENOSPC ? .storeFull : .storeUnavailable
        return PorticoError(
            code, "A file of the store cannot be written.",
            logDetail: "\(path): \(String(cString: strerror(errno)))")
    }
}

extension PorticoError {
    /// Whatever was thrown where the database and the file system both take part.
    static func ofFiles(_ error: any Error, _ message: String) -> PorticoError {
        switch translated(error) {
        case let error as PorticoError: error
        case let error: PorticoError(.storeUnavailable, message, logDetail: "\(error)")
        }
    }
}
