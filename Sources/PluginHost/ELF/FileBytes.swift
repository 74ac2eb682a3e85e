import Glibc

/// Ranges of an open file, each checked against the file's size.
///
/// Reads instead of mapping it: a mapped file that somebody truncates kills the process with SIGBUS.
struct FileBytes {
    let descriptor: Int32
    let size: UInt64

    /// All of the range or an error; `count` is at most what the caller bounded it to.
    func read(at offset: UInt64, count: Int) throws(ELFReadError) -> [UInt8] {
        guard contains(offset: offset, count: UInt64(count)) else { throw .truncated }
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset) + off_t(done))
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
            guard got > 0 else { throw .truncated }
            done += got
        }
        return bytes
    }

    func contains(offset: UInt64, count: UInt64) -> Bool {
        offset <= size && count <= size - offset && size <= UInt64(Int64.max)
    }
}
