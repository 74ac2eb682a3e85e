import AdapterKit
import Glibc

/// A plugin's file, open, regular, and not writable by every user.
///
/// A user that may write the file, or replace it in its folder, runs code as this process. Permissions for all users are
/// refused; the owner and the group are the operator's choice, since a deployment's account often differs from the
/// one that serves.
struct PluginFile: Sendable {
    /// Absolute and free of symbolic links. For messages: what is checked and loaded is the open file, whatever the path
    /// leads to later.
    let path: String
    let file: OpenFile
    private let size: UInt64
    private let version: FileVersion

    init(_ given: String) throws(PluginError) {
        guard let resolved = realpath(given, nil) else { throw PluginError(given, .unreadable(Self.systemError)) }
        defer { free(resolved) }
        let path = String(cString: resolved)
        guard let file = OpenFile(path) else { throw PluginError(path, .unreadable(Self.systemError)) }
        guard let status = file.status() else { throw PluginError(path, .unreadable(Self.systemError)) }
        try Self.checkKind(status, path)
        try Self.checkFolders(above: path)
        self.path = path
        self.file = file
        size = UInt64(max(0, status.st_size))
        version = FileVersion(status)
    }

    /// Whether this process may execute it.
    var isExecutable: Bool { access(path, X_OK) == 0 }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Throws where the open file was written to since it was opened.
    func checkIsUnchanged() throws(PluginError) {
        guard let status = file.status() else { throw PluginError(path, .unreadable(Self.systemError)) }
        guard FileVersion(status) == version else { throw PluginError(path, .replacedWhileLoading) }
    }

    /// The stamp that the file carries.
    func stamp() throws(PluginError) -> PluginStamp {
        let bytes = FileBytes(descriptor: file.descriptor, size: size)
        let contents: [UInt8]?
        do {
            contents = try ELFLibrary(bytes).section(named: PluginStamp.section, byteCount: PluginStamp.byteCount)
        } catch {
            throw PluginError(path, PluginError.Reason(error))
        }
        guard let contents else { throw PluginError(path, .noStamp) }
        guard let stamp = PluginStamp(contents) else { throw PluginError(path, .malformedStamp) }
        return stamp
    }
}

extension PluginFile {
    private static var systemError: String { String(cString: strerror(errno)) }

    private static func checkKind(_ status: stat, _ path: String) throws(PluginError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw PluginError(path, .notARegularFile) }
        guard status.st_mode & S_IWOTH == 0 else { throw PluginError(path, .writableByEveryone(path)) }
    }

    /// In a folder with the sticky bit, such as `/tmp`, no user replaces another's files; so it is accepted on the way,
    /// but not as the folder of the plugin itself, where every user could put a library beside it.
    private static func checkFolders(above path: String) throws(PluginError) {
        var folder = parent(of: path)
        var toleratesSticky = false
        while true {
            var status = stat()
            guard stat(folder, &status) == 0 else { throw PluginError(path, .unreadable(systemError)) }
            let isTolerated = toleratesSticky && status.st_mode & S_ISVTX != 0
            guard status.st_mode & S_IWOTH == 0 || isTolerated else {
                throw PluginError(path, .writableByEveryone(folder))
            }
            if folder == "/" { return }
            folder = parent(of: folder)
            toleratesSticky = true
        }
    }

    private static func parent(of path: String) -> String {
        let parent = path[..<(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)]
        return parent.isEmpty ? "/" : String(parent)
    }
}

extension PluginError.Reason {
    init(_ error: ELFReadError) {
        self =
            switch error {
            case .unreadable(let why): .unreadable(why)
            case .empty: .empty
            case .notELF: .notELF
            case .truncated: .truncated
            case .malformed(let what): .malformed(what)
            case .otherPlatform(let what): .otherPlatform(what)
            }
    }
}

/// What changes when a file is written in place.
private struct FileVersion: Equatable {
    private let size: Int
    private let modified: [Int]

    init(_ status: stat) {
        size = Int(status.st_size)
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }
}

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

/// What a piece of code was compiled against: AdapterKit's version and sources, and the compiler.
public struct PluginStamp: Sendable, Equatable {
    public let sdkVersion: String
    public let sdkHash: String
    public let compiler: String

    /// The host's own, compiled into this module from the header that plugins use.
    public static let ofHost: PluginStamp = {
        let bytes = Array(UnsafeRawBufferPointer(start: adapterKitStamp(), count: byteCount))
        guard let stamp = PluginStamp(bytes) else { preconditionFailure("the host's own stamp is malformed") }
        return stamp
    }()

    /// What keeps a plugin of this stamp from running beside a host of that one; nil where nothing does.
    func mismatch(with host: PluginStamp) -> PluginError.Reason? {
        if sdkVersion != host.sdkVersion { return .otherSDKVersion(plugin: sdkVersion, host: host.sdkVersion) }
        if compiler != host.compiler { return .otherCompiler(plugin: compiler, host: host.compiler) }
        if sdkHash != host.sdkHash { return .otherSDKSources(plugin: sdkHash, host: host.sdkHash) }
        return nil
    }
}

/// The format is described at its source, `AdapterKitStamp.h`.
extension PluginStamp {
    static let section = ".adapterkit.stamp"
    static let byteCount = MemoryLayout<AdapterKitStamp>.size

    /// Nil where the bytes are no stamp.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes.starts(with: "AdapterKit-Stamp".utf8) else { return nil }
        guard let version = Self.text(\.sdkVersion, in: bytes), let hash = Self.text(\.sdkHash, in: bytes),
            let compiler = Self.text(\.compiler, in: bytes)
        else { return nil }
        self.init(sdkVersion: version, sdkHash: hash, compiler: compiler)
    }

    /// Printable ASCII, then zeros up to the member's end; so it is safe to show.
    private static func text<Characters>(
        _ member: KeyPath<AdapterKitStamp, Characters>, in bytes: [UInt8]
    ) -> String? {
        guard let offset = MemoryLayout<AdapterKitStamp>.offset(of: member) else { return nil }
        let field = bytes[offset..<offset + MemoryLayout<Characters>.size]
        let text = field.prefix { $0 != 0 }
        let isPrintable = text.allSatisfy { (0x20..<0x7f).contains($0) }
        let isPadded = text.count < field.count && field[text.endIndex...].allSatisfy { $0 == 0 }
        return !text.isEmpty && isPrintable && isPadded ? String(decoding: text, as: UTF8.self) : nil
    }
}
