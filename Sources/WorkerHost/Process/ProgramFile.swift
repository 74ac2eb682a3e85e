import AdapterKit
import Glibc

/// The file of a program that may be started: regular, executable, and not writable by every user.
///
/// A user that may write the file, or replace it in its folder, runs code as this process. Permissions for all users are
/// refused; the owner and the group are the operator's choice, since a deployment's account often differs from the
/// one that serves.
public struct ProgramFile: Sendable, Equatable {
    /// Absolute and free of symbolic links.
    public let path: String

    /// Throws ``ProgramFileError`` where the file may not be started.
    public init(_ given: String) throws(ProgramFileError) {
        guard let resolved = realpath(given, nil) else { throw ProgramFileError(given, Self.unreadable) }
        defer { free(resolved) }
        let path = String(cString: resolved)
        guard let file = SharedDescriptor(path), let status = file.status() else {
            throw ProgramFileError(path, Self.unreadable)
        }
        try Self.checkKind(status, path)
        try Self.checkFolders(above: path)
        guard access(path, X_OK) == 0 else { throw ProgramFileError(path, .notExecutable) }
        self.path = path
    }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

extension ProgramFile {
    private static var unreadable: ProgramFileError.Reason {
        errno == ENOENT ? .missing : .unreadable(String(cString: strerror(errno)))
    }

    private static func checkKind(_ status: stat, _ path: String) throws(ProgramFileError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw ProgramFileError(path, .notARegularFile) }
        guard status.st_mode & S_IWOTH == 0 else { throw ProgramFileError(path, .writableByEveryone(path)) }
    }

    /// In a folder with the sticky bit, such as `/tmp`, no user replaces another's files; so it is accepted on the way,
    /// but not as the folder of the program itself, where every user could put a library beside it.
    private static func checkFolders(above path: String) throws(ProgramFileError) {
        var folder = parent(of: path)
        var toleratesSticky = false
        while true {
            var status = stat()
            guard stat(folder, &status) == 0 else { throw ProgramFileError(path, unreadable) }
            let isTolerated = toleratesSticky && status.st_mode & S_ISVTX != 0
            guard status.st_mode & S_IWOTH == 0 || isTolerated else {
                throw ProgramFileError(path, .writableByEveryone(folder))
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

/// Why a program is not started. For operators: it names files.
public struct ProgramFileError: Error, Sendable, Equatable, CustomStringConvertible {
    public let path: String
    public let reason: Reason

    public init(_ path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    public enum Reason: Sendable, Equatable {
        case missing
        case unreadable(String)
        case notARegularFile
        case notExecutable
        /// Every user may write the file, or a folder on the way to it.
        case writableByEveryone(String)
        /// There is another adapter of its name.
        case adapterNameTaken(AdapterName)
    }

    public var description: String { "plugin \(path): \(reason.text)" }
}

extension ProgramFileError.Reason {
    fileprivate var text: String {
        switch self {
        case .missing: "it is not there: build it, or correct its path"
        case .unreadable(let why): "it cannot be read: \(why)"
        case .notARegularFile: "it is not a regular file"
        case .notExecutable: "it is no program that may be executed (chmod +x)"
        case .writableByEveryone(let path): "every user may write \(path); take that permission away (chmod o-w)"
        case .adapterNameTaken(let name): "there is already an adapter named \(name)"
        }
    }
}

/// Where a program named in the configuration is looked for.
public struct ProgramPaths: Sendable, Equatable {
    private let configurationFolder: String
    private let pluginFolder: String

    /// `gateway` is the absolute path of the running gateway, symbolic links resolved. An installed one stands in
    /// `bin/` and has `plugins/` beside that folder; one that was just built has `plugins/` beside itself.
    public init(configurationFolder: String, gateway: String) {
        self.configurationFolder = configurationFolder
        let folder = gateway[..<(gateway.lastIndex(of: "/") ?? gateway.startIndex)]
        let isInstalled = folder.hasSuffix("/bin")
        pluginFolder = "\(isInstalled ? folder.dropLast("/bin".count) : folder)/plugins"
    }

    /// A bare name stands for a file in the plugin folder, or for the file of the same name in a folder there, beside which are
    /// the libraries that the program brings: one configuration fits the build folder and an installed tree. A path with a
    /// slash is relative to the configuration's folder, or absolute.
    public func resolve(_ name: String) -> String {
        let path = path(of: name)
        return ProgramFile.isFolder(path) ? "\(path)/\(name.split(separator: "/").last ?? "")" : path
    }

    private func path(of name: String) -> String {
        if name.hasPrefix("/") { return name }
        return name.contains("/") ? "\(configurationFolder)/\(name)" : "\(pluginFolder)/\(name)"
    }
}

/// A file open for reading, closed when its last use is over.
final class SharedDescriptor: Sendable {
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
