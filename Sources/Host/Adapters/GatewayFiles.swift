import Foundation
import HostConfiguration

/// What no worker may read: the data, the store, what lies with the configuration unless it is listed for the worker, and every path
/// that the configuration names, wherever it lies.
struct GatewayFiles: Sendable, Equatable {
    /// A path that the configuration names, and the file or folder that it is.
    struct Named: Sendable, Equatable {
        let key: String
        /// Absolute, as it is written: what a link leads to may change.
        let path: String
        let file: ResolvedPath
    }

    /// The data directory.
    let data: String
    private let directory: ResolvedPath
    private let store: ResolvedPath
    /// Below it each version has a folder of its own.
    private let installed: ResolvedPath
    private var named: [Named]

    /// `store`: as it is configured, from the data directory on. `named`: what the configuration names.
    init(data: String, directory: String, store: String, named: [NamedPath] = []) {
        self.data = data
        self.directory = ResolvedPath(directory)
        self.store = ResolvedPath(Self.absolute(store, from: data))
        installed = ResolvedPath("\(data)/\(InstalledReleases.folderName)")
        self.named = Self.files(named, data: data, directory: self.directory)
    }

    /// The same files, and these paths as those that the configuration names.
    func naming(_ named: [NamedPath]) -> GatewayFiles {
        var files = self
        files.named = Self.files(named, data: data, directory: directory)
        return files
    }

    private static func files(_ named: [NamedPath], data: String, directory: ResolvedPath) -> [Named] {
        named.map { named in
            let folder: String? =
                switch named.base {
                case .data: data
                case .configuration: directory.path
                case .workingDirectory: nil
                }
            let path = absolute(named.path, from: folder)
            return Named(key: named.key, path: path, file: ResolvedPath(path))
        }
    }

    /// `folder`: nil for the one in which the gateway was started.
    private static func absolute(_ path: String, from folder: String?) -> String {
        URL(fileURLWithPath: path, relativeTo: folder.map { URL(fileURLWithPath: $0, isDirectory: true) }).path
    }

    /// What is not readable by a worker whatever is configured: the kernel's files name other processes and devices.
    private static let kernel = ["/proc", "/sys", "/dev"]

    static func areKernels(_ file: ResolvedPath) -> Bool { kernel.contains { ResolvedPath($0).contains(file) } }

    /// Absolute paths that are closed to every worker, also where they lie below a folder that it may read: the launcher leaves
    /// them out, and finds out itself where links lead at that time.
    var closed: [String] {
        [ResolvedPath(data).path, directory.path] + ["", "-wal", "-shm", "-journal"].map { store.path + $0 }
            + named.map(\.path)
    }

    /// Why a file or folder may not be given to a worker to read; nil: it may be, but for what is ``closed`` below it.
    func refusal(of file: ResolvedPath) -> String? {
        if Self.areKernels(file) { return "the kernel's files are there" }
        if file.overlaps(ResolvedPath(data)) || file.contains(directory) || file.contains(store) || file.isBeside(store)
        {
            return "the gateway's own files are there"
        }
        return named.first { $0.file.contains(file) }.map { "\($0.key) names it, or a folder around it" }
    }

    /// Whether a program may read the folder that it lies in, or that of its libraries: a package's, or one that has none of the
    /// gateway's own files. Below the configuration's folder that is so for a folder of its own.
    func isReadable(codeFolder folder: String) -> Bool {
        let resolved = ResolvedPath(folder)
        guard !named.contains(where: { $0.file.contains(resolved) }) else { return false }
        let isBesideConfiguration = directory.contains(resolved) && resolved != directory
        return isOfPackage(resolved)
            || !Self.areKernels(resolved) && !resolved.overlaps(ResolvedPath(data)) && !resolved.contains(store)
                && !resolved.isBeside(store) && (isBesideConfiguration || !resolved.overlaps(directory))
    }

    /// What the configuration names below a folder.
    func namedFiles(below folder: String) -> [Named] {
        let folder = ResolvedPath(folder)
        return named.filter { folder.contains($0.file) }
    }

    /// `NAME/versions/VERSION` and what is below it.
    private func isOfPackage(_ resolved: ResolvedPath) -> Bool {
        installed.depth(of: resolved).map { $0 >= 3 } ?? false
    }
}

/// An absolute path without symbolic links, by its parts.
struct ResolvedPath: Sendable, Equatable {
    fileprivate let parts: [String]

    /// Nil where there is no such file.
    init?(existing path: String) {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        parts = Self.names(String(cString: found))
    }

    /// One that may be made later: as far as it exists, without links.
    init(_ path: String) {
        let absolute = URL(fileURLWithPath: path).path
        if let found = ResolvedPath(existing: absolute) {
            self = found
        } else if let name = Self.names(absolute).last, Self.names(absolute).count > 1 {
            let parent = ResolvedPath("/" + Self.names(absolute).dropLast().joined(separator: "/")).parts
            parts = name == ".." ? parent.dropLast() : name == "." ? parent : parent + [name]
        } else {
            parts = Self.names(absolute)
        }
    }

    /// By bytes, as the file system does: `/` and a combining mark after it are one `Character`.
    private static func names(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }

    var path: String { "/" + parts.joined(separator: "/") }

    /// Whether the other one is this one, or lies in it.
    func contains(_ other: ResolvedPath) -> Bool { other.parts.starts(with: parts) }

    /// How many names lead from here to it; nil: it is elsewhere.
    func depth(of other: ResolvedPath) -> Int? { contains(other) ? other.parts.count - parts.count : nil }

    func overlaps(_ other: ResolvedPath) -> Bool { contains(other) || other.contains(self) }

    /// Whether it is a file of the same database: in the same folder, with a name that begins with its name.
    func isBeside(_ database: ResolvedPath) -> Bool {
        parts.dropLast() == database.parts.dropLast()
            && parts.last?.hasPrefix(database.parts.last ?? "") ?? false
    }
}
