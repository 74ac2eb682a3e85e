#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The kind and size of the file behind an open descriptor.
public struct OpenFile: Sendable {
    public enum Kind: Sendable {
        case regular, folder, other
    }

    public let kind: Kind
    /// Bytes.
    public let size: Int

    /// Nil, with `errno` set, where the system does not tell.
    public init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .folder
        default: kind = .other
        }
        size = Int(status.st_size)
    }
}
