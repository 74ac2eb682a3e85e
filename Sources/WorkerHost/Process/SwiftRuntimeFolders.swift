import Glibc

/// The folders of Swift's runtime that a program is linked to look into.
///
/// SwiftPM has a program find its runtime in the toolchain that built it (`DT_RUNPATH`), wherever that is. A build for
/// debugging needs libraries of it that a gateway does not bring. What else a program names is not for it to read, so a folder
/// counts only where it holds `libswiftCore.so`. Source: System V gABI, chapter 5, "Dynamic Section".
public enum SwiftRuntimeFolders {
    /// Absolute, without symbolic links, in the order of the file. Empty for a script, and for a file that is damaged or
    /// cannot be read.
    public static func namedFolders(byProgramAt path: String) -> [String] {
        guard let resolved = Self.resolved(path), let file = SharedDescriptor(resolved), let status = file.status()
        else {
            return []
        }
        let bytes = FileBytes(descriptor: file.descriptor, size: UInt64(max(0, status.st_size)))
        guard let library = try? ELFLibrary(bytes), let named = try? library.librarySearchPaths() else { return [] }
        return named.filter { $0.hasPrefix("/") }.compactMap(Self.resolved).filter(holdsRuntime)
    }

    private static func holdsRuntime(_ folder: String) -> Bool {
        var status = stat()
        return stat(folder + "/libswiftCore.so", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }
}
