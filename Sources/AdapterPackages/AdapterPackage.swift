import AdapterKit
import DurableFiles
import Glibc

/// A package of an adapter, `NAME-VERSION.adapter`: opened and checked, its program not run.
///
/// It is a tar archive of ``AdapterManifest``, perhaps ``PackageSignature``, and the files that the manifest names; none
/// besides. Every byte was compared with its digest when a value of this type exists, and is again when it is extracted.
public struct AdapterPackage: Sendable {
    /// Bytes of a package, at most.
    public static let maximumBytes = 512 << 20
    static let suffix = ".adapter"

    public let manifest: AdapterManifest
    /// The key that signed it; nil: none.
    public let signer: PackageKey?
    let manifestBytes: [UInt8]
    /// Of ``PackageSignature``; nil: it is not signed.
    let signatureBytes: [UInt8]?
    private let file: PackageFile
    private let entries: [PackagePath: TarArchive.Entry]

    /// Opens the file. Waits for the disk.
    ///
    /// - Parameter trusted: The keys whose signature is asked for; none: a signature is not needed, but one that is there
    ///   must be right.
    public init(_ path: String, trusting trusted: [PackageKey] = []) throws(AdapterPackageError) {
        let file = try PackageFile(path)
        let archive = try TarArchive(limit: AdapterManifest.maximumFiles + 2) {
            (offset, count) throws(AdapterPackageError) in try file.read(offset, count)
        }
        guard let first = archive.files.first, first.path.text == AdapterManifest.fileName else {
            throw AdapterPackageError(
                "The package does not begin with \(AdapterManifest.fileName). Make it with porticoctl adapter pack.")
        }
        manifestBytes = try file.readWhole(first, limit: AdapterManifest.maximumBytes)
        manifest = try AdapterManifest(manifestBytes)
        var entries: [PackagePath: TarArchive.Entry] = [:]
        for entry in archive.files.dropFirst() { entries[entry.path] = entry }
        let signature = entries.first { $0.key.text == PackageSignature.fileName }?.value
        signatureBytes = try signature.map { entry throws(AdapterPackageError) in
            try file.readWhole(entry, limit: PackageSignature.maximumBytes)
        }
        signer = try Self.signer(signatureBytes, of: manifestBytes, trusted)
        entries = entries.filter { $0.key.text != PackageSignature.fileName }
        self.file = file
        self.entries = entries
        try checkFiles()
    }

    private static func signer(
        _ bytes: [UInt8]?, of manifest: [UInt8], _ trusted: [PackageKey]
    ) throws(AdapterPackageError) -> PackageKey? {
        guard let bytes else {
            guard trusted.isEmpty else {
                throw AdapterPackageError(
                    "The package is not signed, and packages.trustedKeys requires a signature. Sign it with --sign.")
            }
            return nil
        }
        let signature = try PackageSignature(bytes)
        guard signature.isValid(for: manifest) else {
            throw AdapterPackageError(
                "The package's signature does not match its \(AdapterManifest.fileName). Pack and sign it again.")
        }
        guard trusted.isEmpty || trusted.contains(signature.key) else {
            throw AdapterPackageError(
                "The package is signed by the key \(signature.key.text), which is not in packages.trustedKeys.")
        }
        return signature.key
    }

    private func checkFiles() throws(AdapterPackageError) {
        if let path = entries.keys.first(where: { manifest.files[$0] == nil }) {
            throw AdapterPackageError(
                "The package has the file \(path), which its \(AdapterManifest.fileName) does not list.")
        }
        for path in manifest.files.keys.sorted(by: { $0.text < $1.text }) {
            try content(of: path) { _ throws(AdapterPackageError) in }
        }
    }

    /// The file's bytes, piece by piece. Throws where they are not what the manifest says.
    func content(
        of path: PackagePath, _ take: ([UInt8]) throws(AdapterPackageError) -> Void
    ) throws(AdapterPackageError) {
        guard let listed = manifest.files[path], let entry = entries[path], entry.size == listed.size else {
            throw AdapterPackageError("The package's file \(path) is missing, or has another size than listed.")
        }
        var digest = SHA256Text()
        var offset = 0
        while offset < entry.size {
            let bytes = try file.read(entry.offset + offset, min(PackageFile.piece, entry.size - offset))
            guard !bytes.isEmpty else { throw TarArchive.truncated }
            bytes.withUnsafeBytes { digest.update($0) }
            try take(bytes)
            offset += bytes.count
        }
        guard digest.finish() == listed.digest else {
            throw AdapterPackageError("The package's file \(path) is damaged. Copy the package again.")
        }
    }

    /// Makes the file `NAME-VERSION.adapter` in a folder, of files that lie below another one, and returns its path.
    ///
    /// `sources` says where each file is. The same files make the same bytes. Throws where a file cannot be read, or
    /// changes meanwhile; nothing is left behind then.
    public static func write(
        name: AdapterName, version: AdapterVersion, protocolVersion: Int, entry: PackagePath, platform: String?,
        sources: [PackagePath: String], signer: PackageSigner?, into folder: String
    ) throws(AdapterPackageError) -> String {
        var files: [PackagePath: AdapterManifest.File] = [:]
        for (path, source) in sources {
            let file = try PackageFile(source)
            files[path] = AdapterManifest.File(
                digest: try file.digest(), size: file.size, isExecutable: file.isExecutable)
        }
        let manifest = try AdapterManifest(
            name: name, version: version, protocolVersion: protocolVersion, entry: entry, platform: platform,
            files: files)
        let bytes = manifest.bytes()
        let path = "\(folder)/\(name)-\(version)\(suffix)"
        let output = try PackageOutput("\(path).new", mode: 0o644)
        do throws(AdapterPackageError) {
            try output.add(AdapterManifest.fileName, bytes)
            if let signer {
                try output.add(PackageSignature.fileName, PackageSignature(of: bytes, by: signer).bytes())
            }
            for (path, listed) in files.sorted(by: { $0.key.text < $1.key.text }) {
                try output.append(
                    TarArchive.header(path, size: listed.size, isExecutable: listed.isExecutable))
                let file = try PackageFile(sources[path] ?? "")
                var offset = 0
                while offset < listed.size {
                    let piece = try file.read(offset, min(PackageFile.piece, listed.size - offset))
                    guard !piece.isEmpty else { throw AdapterPackageError("\(path) has changed meanwhile.") }
                    try output.append(piece)
                    offset += piece.count
                }
                try output.append(TarArchive.padding(listed.size))
            }
            try output.append(TarArchive.end)
            try output.flush()
            // What changed while it was copied is found here.
            _ = try AdapterPackage("\(path).new")
            try output.finish(as: path)
        } catch {
            unlink("\(path).new")
            throw error
        }
        return path
    }
}

/// A regular file that is open for reading.
final class PackageFile: Sendable {
    static let piece = 256 << 10

    let size: Int
    let isExecutable: Bool
    private let descriptor: Int32

    init(_ path: String) throws(AdapterPackageError) {
        let name = PackagePath.names(path, omittingEmptyOnes: true).last.map(String.init) ?? path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw AdapterPackageError("\(name) cannot be opened: \(String(cString: strerror(errno))).")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw AdapterPackageError("\(name) is no regular file.")
        }
        guard status.st_size <= AdapterPackage.maximumBytes else {
            close(descriptor)
            throw AdapterPackageError("\(name) has more than \(AdapterPackage.maximumBytes >> 20) MiB.")
        }
        size = Int(status.st_size)
        isExecutable = status.st_mode & 0o111 != 0
    }

    deinit { close(descriptor) }

    /// Fewer bytes where the file ends.
    func read(_ offset: Int, _ count: Int) throws(AdapterPackageError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let start = buffer.baseAddress {
                let read = pread(descriptor, start + filled, count - filled, off_t(offset + filled))
                if read < 0, errno == EINTR { continue }
                failed = read < 0
                guard read > 0 else { return }
                filled += read
            }
        }
        guard !failed else { throw AdapterPackageError("The file cannot be read.") }
        return bytes
    }

    func readWhole(_ entry: TarArchive.Entry, limit: Int) throws(AdapterPackageError) -> [UInt8] {
        guard entry.size <= limit else { throw AdapterPackageError("Its \(entry.path) has more than \(limit) bytes.") }
        let bytes = try read(entry.offset, entry.size)
        guard bytes.count == entry.size else { throw TarArchive.truncated }
        return bytes
    }

    func digest() throws(AdapterPackageError) -> String {
        var digest = SHA256Text()
        var offset = 0
        while true {
            let bytes = try read(offset, Self.piece)
            if bytes.isEmpty { return digest.finish() }
            bytes.withUnsafeBytes { digest.update($0) }
            offset += bytes.count
        }
    }
}

/// A file that is written and then takes its name.
struct PackageOutput: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String, mode: mode_t) throws(AdapterPackageError) {
        unlink(path)
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        self.path = path
        guard descriptor >= 0 else { throw Self.failure }
        // Whatever the caller's mask is.
        guard fchmod(descriptor, mode) == 0 else {
            close(descriptor)
            throw Self.failure
        }
    }

    deinit { close(descriptor) }

    func add(_ name: String, _ bytes: [UInt8]) throws(AdapterPackageError) {
        guard let path = PackagePath(name) else { return }
        try append(TarArchive.header(path, size: bytes.count, isExecutable: false))
        try append(bytes)
        try append(TarArchive.padding(bytes.count))
    }

    func append(_ bytes: [UInt8]) throws(AdapterPackageError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw Self.failure }
            rest = rest.dropFirst(written)
        }
    }

    /// Durably.
    func flush() throws(AdapterPackageError) {
        guard fsync(descriptor) == 0 else { throw Self.failure }
    }

    func finish(as name: String) throws(AdapterPackageError) {
        guard rename(path, name) == 0 else { throw Self.failure }
    }

    private static var failure: AdapterPackageError {
        AdapterPackageError("The package cannot be written: \(String(cString: strerror(errno))).")
    }
}
