import Foundation
import HostConfiguration

/// Where the gateway's own files are, which no worker may read: the data, the store, and what lies with the configuration.
struct GatewayFiles: Sendable {
    /// The data directory.
    let data: String
    private let paths: [ResolvedPath]
    private let directory: ResolvedPath
    private let store: ResolvedPath
    /// Below it each version has a folder of its own.
    private let installed: ResolvedPath

    /// `store`: as it is configured, from the data directory on.
    init(data: String, directory: String, store: String) {
        self.data = data
        self.directory = ResolvedPath(directory)
        paths = [ResolvedPath(data), self.directory]
        self.store = ResolvedPath(
            URL(fileURLWithPath: store, relativeTo: URL(fileURLWithPath: data, isDirectory: true)).path)
        installed = ResolvedPath("\(data)/\(InstalledReleases.folderName)")
    }

    /// What is not readable by a worker whatever is configured: the kernel's files name other processes and devices.
    private static let kernel = ["/proc", "/sys", "/dev"]

    static func areKernels(_ file: ResolvedPath) -> Bool { kernel.contains { ResolvedPath($0).contains(file) } }

    /// Whether some of them are in a folder, or a file is one of them.
    func overlap(_ file: ResolvedPath) -> Bool {
        paths.contains { $0.overlaps(file) } || file.contains(store) || file.isBeside(store)
    }

    /// Whether a program may read the folder that it lies in, or that of its libraries: a package's, or one that has none of the
    /// gateway's own files. Below the configuration's folder that is so for a folder of its own.
    func isReadable(codeFolder folder: String) -> Bool {
        let resolved = ResolvedPath(folder)
        let isBesideConfiguration = directory.contains(resolved) && resolved != directory
        return isOfPackage(resolved)
            || !Self.areKernels(resolved) && !resolved.overlaps(ResolvedPath(data)) && !resolved.contains(store)
                && !resolved.isBeside(store) && (isBesideConfiguration || !resolved.overlaps(directory))
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
