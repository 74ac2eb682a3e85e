import Glibc
import Synchronization

/// Packages that operators send in pieces, until they are opened: files in the folder of the installed adapters, which
/// ``InstalledAdapters/removeUnfinished()`` removes at the next start. Every method waits for the disk.
public final class PackageUploads: Sendable {
    /// Bytes of a piece, at most.
    public static let longestPiece = 8 << 20
    /// Uploads that are there at once; the oldest gives way to the next.
    public static let mostAtOnce = 4

    private struct Upload {
        let id: String
        var size = 0
    }

    private let folder: String
    private let random: @Sendable () -> UInt64
    private let uploads = Mutex<[Upload]>([])

    /// `folder`: that of the installed adapters; it need not be there.
    public init(_ folder: String, random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }) {
        self.folder = folder
        self.random = random
    }

    /// Begins one, and returns its name.
    public func begin() throws(AdapterPackageError) -> String {
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw AdapterPackageError("The folder of the installed adapters cannot be made: \(Self.reason).")
        }
        let id = String(random(), radix: 16) + String(random(), radix: 16)
        _ = try PackageOutput(path(id), mode: 0o600)
        let doomed = uploads.withLock { uploads in
            uploads.append(Upload(id: id))
            return uploads.count > Self.mostAtOnce ? uploads.removeFirst().id : nil
        }
        if let doomed { unlink(path(doomed)) }
        return id
    }

    /// Adds the piece that begins at `offset`, and returns how many bytes are there. One that is there already changes
    /// nothing.
    public func append(_ bytes: [UInt8], at offset: Int, to id: String) throws(AdapterPackageError) -> Int {
        try uploads.withLock { uploads throws(AdapterPackageError) in
            guard let index = uploads.firstIndex(where: { $0.id == id }) else { throw Self.unknown }
            let known = uploads[index].size
            guard offset >= 0, offset <= known else {
                throw AdapterPackageError("The piece begins beyond the \(known) bytes that are there.")
            }
            guard offset == known else { return known }
            guard bytes.count <= Self.longestPiece, bytes.count <= AdapterPackage.maximumBytes - known else {
                throw AdapterPackageError("A package has at most \(AdapterPackage.maximumBytes >> 20) MiB.")
            }
            try write(bytes, at: known, to: path(id))
            uploads[index].size = known + bytes.count
            return known + bytes.count
        }
    }

    /// The file of an upload, for ``AdapterPackage/init(_:trusting:)``.
    public func file(of id: String) throws(AdapterPackageError) -> String {
        guard uploads.withLock({ $0.contains { $0.id == id } }) else { throw Self.unknown }
        return path(id)
    }

    /// Removes an upload. One that is not there changes nothing.
    public func end(_ id: String) {
        let isKnown = uploads.withLock { uploads in
            let known = uploads.contains { $0.id == id }
            uploads.removeAll { $0.id == id }
            return known
        }
        if isKnown { unlink(path(id)) }
    }

    private func path(_ id: String) -> String { "\(folder)/.incoming-upload-\(id)" }

    private func write(_ bytes: [UInt8], at offset: Int, to path: String) throws(AdapterPackageError) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw AdapterPackageError("The upload cannot be kept: \(Self.reason).") }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let position = off_t(offset + bytes.count - rest.count)
            let written = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, position) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw AdapterPackageError("The upload cannot be kept: \(Self.reason).") }
            rest = rest.dropFirst(written)
        }
    }

    private static let unknown = AdapterPackageError("There is no such upload, or it gave way to later ones.")
    private static var reason: String { String(cString: strerror(errno)) }
}
