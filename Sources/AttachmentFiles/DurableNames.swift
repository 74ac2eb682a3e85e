import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Names of files that survive a power failure once they were given: a directory's names are on the disk only when the
/// directory itself was synchronised (fsync(2)).
enum DurableNames {
    /// Within one file system; replaces what is there.
    static func move(_ from: URL, to: URL) throws {
        guard rename(from.path, to.path) == 0 else { throw failure }
        try flush(to.deletingLastPathComponent())
    }

    /// A file's bytes, or a directory's names.
    static func flush(_ place: URL) throws {
        let descriptor = open(place.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure }
    }

    private static var failure: CocoaError { CocoaError(errno == ENOSPC ? .fileWriteOutOfSpace : .fileWriteUnknown) }
}
