#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which file or folder a path leads to, whatever it is called: two of them at the same time have different ones.
public struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// Nil where the path leads nowhere.
    public init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }
}

/// Paths that have to lead to the files that they led to.
public struct WatchedPaths: Sendable {
    private let paths: [(path: String, identity: FileIdentity?)]

    /// A path that leads nowhere now is misplaced from the start.
    public init(_ paths: [String]) {
        self.paths = paths.map { ($0, FileIdentity($0)) }
    }

    /// The first path that leads elsewhere, or nowhere: its file was moved, deleted or replaced.
    public var misplaced: String? {
        paths.first { $0.identity == nil || FileIdentity($0.path) != $0.identity }?.path
    }
}
