import AdapterKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The regular files below a directory, read without following links: whatever a caller puts there, nothing outside is
/// read, and no device or named pipe is opened.
final class FileTree: Sendable {
    /// How deep folders lie, and how many files there are, at most.
    static let maximumDepth = 4
    static let maximumFiles = 4_000_000

    private let root: Int32

    /// The directory itself may be named through a link. Throws `record.notFound` where there is none.
    init(_ directory: String) throws(PorticoError) {
        root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else {
            let reason = errno == ENOENT ? "is not there" : errno == ENOTDIR ? "is no directory" : "cannot be read"
            throw PorticoError(.recordNotFound, "\(directory) \(reason).", target: "directory")
        }
    }

    deinit { close(root) }

    /// Paths from the directory on, in order. Throws `request.invalid` where something is neither a regular file nor a
    /// folder.
    func files() throws(PorticoError) -> [String] {
        var found: [String] = []
        try collect("", depth: 0, into: &found)
        return found.sorted()
    }

    /// Whether there is something of that name in the directory itself.
    func holds(_ name: String) -> Bool { kind(name, in: root) != nil }

    func digest(of path: String) throws(PorticoError) -> String {
        try read(path) { _ throws(PorticoError) in }
    }

    /// Into a new file of mode 0600, durably; the digest of what was copied.
    func copy(_ path: String, to target: String) throws(PorticoError) -> String {
        let copy = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard copy >= 0 else { throw DurableFiles.failure(target) }
        defer { close(copy) }
        let digest = try read(path) { piece throws(PorticoError) in
            var rest = piece
            while !rest.isEmpty {
                let written = write(copy, rest.baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw DurableFiles.failure(target) }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
        guard fsync(copy) == 0 else { throw DurableFiles.failure(target) }
        return digest
    }

    /// All bytes. Throws `request.invalid` beyond `limit`.
    func contents(of path: String, limit: Int) throws(PorticoError) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try read(path) { piece throws(PorticoError) in
            guard bytes.count + piece.count <= limit else { throw Self.refusal(path, "is too large") }
            bytes.append(contentsOf: piece)
        }
        return bytes
    }

    static func refusal(_ path: String, _ what: String) -> PorticoError {
        PorticoError(.requestInvalid, "The backup is not restored: \(path.debugDescription) \(what).", target: path)
    }
}

extension FileTree {
    private static let piece = 256 << 10

    private func read(
        _ path: String, _ take: (UnsafeRawBufferPointer) throws(PorticoError) -> Void
    ) throws(PorticoError) -> String {
        let file = try openDescriptor(path, O_RDONLY | O_NONBLOCK)
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Self.refusal(path, "is not a regular file")
        }
        var digest = SHA256Text()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = Self.readPiece(file, buffer)
            guard count >= 0 else { throw Self.refusal(path, "cannot be read") }
            if count == 0 { return digest.finish() }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            digest.update(bytes)
            try take(bytes)
        }
    }

    private static func readPiece(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            #if canImport(Glibc)
                let count = Glibc.read(file, buffer.baseAddress, buffer.count)
            #else
                let count = Darwin.read(file, buffer.baseAddress, buffer.count)
            #endif
            if count >= 0 || errno != EINTR { return count }
        }
    }

    /// Folder by folder from the root on, through no link. Only what is a regular file is opened, since opening a device
    /// may do something.
    private func openDescriptor(_ path: String, _ flags: Int32) throws(PorticoError) -> Int32 {
        guard BackupList.isWithin(path) else { throw Self.refusal(path, "leads out of the backup") }
        let names = BackupList.names(path)
        var folder = dup(root)
        defer { if folder >= 0 { close(folder) } }
        for name in names.dropLast() {
            let inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            close(folder)
            folder = inner
            guard folder >= 0 else { throw Self.refusal(path, "is not in a folder of the backup") }
        }
        guard let name = names.last, kind(name, in: folder) == S_IFREG else {
            throw Self.refusal(path, "is not a regular file")
        }
        let file = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw Self.refusal(path, "cannot be read") }
        return file
    }

    private func kind(_ name: String, in folder: Int32) -> mode_t? {
        var status = stat()
        return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode & S_IFMT : nil
    }

    private func collect(_ path: String, depth: Int, into found: inout [String]) throws(PorticoError) {
        guard depth < Self.maximumDepth else { throw Self.refusal(path, "lies too deep") }
        for name in try names(in: path) {
            let inner = path.isEmpty ? name : "\(path)/\(name)"
            guard BackupList.isWithin(inner) else { throw Self.refusal(inner, "is no name of a backup's file") }
            switch try kind(of: inner) {
            case S_IFREG: found.append(inner)
            case S_IFDIR: try collect(inner, depth: depth + 1, into: &found)
            default: throw Self.refusal(inner, "is not a regular file")
            }
            guard found.count <= Self.maximumFiles else { throw Self.refusal(inner, "is one file too many") }
        }
    }

    private func names(in path: String) throws(PorticoError) -> [String] {
        let folder = try folder(path)
        guard let stream = fdopendir(folder) else {
            close(folder)
            throw Self.refusal(path, "cannot be read")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private func kind(of path: String) throws(PorticoError) -> mode_t? {
        let names = BackupList.names(path)
        let parent = try folder(names.dropLast().joined(separator: "/"))
        defer { close(parent) }
        return kind(names.last ?? "", in: parent)
    }

    private func folder(_ path: String) throws(PorticoError) -> Int32 {
        // Opened anew: a duplicate would share its position among the directory's names.
        var folder = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        for name in BackupList.names(path) {
            let inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            close(folder)
            folder = inner
        }
        guard folder >= 0 else { throw Self.refusal(path, "is not a folder") }
        return folder
    }
}
