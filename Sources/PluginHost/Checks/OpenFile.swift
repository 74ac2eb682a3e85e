import Glibc

/// A file open for reading, closed when its last use is over unless it was released.
final class OpenFile: Sendable {
    let descriptor: Int32

    /// Nil with `errno` set. Follows no symbolic link, and does not wait for the writer of a named pipe.
    init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Nil with `errno` set.
    func status() -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }
}
