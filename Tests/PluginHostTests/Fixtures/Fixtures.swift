import Foundation
import PluginHost
import Testing

/// A folder of one test, gone with its last use.
final class Folder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "portico-plugins-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: url.appending(path: name))
        return path(name)
    }

    func copy(_ source: String, to name: String) throws -> String {
        try write(Data(contentsOf: URL(filePath: source)), to: name)
    }

    func setPermissions(_ permissions: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }
}

/// The files that this process has mapped.
enum LoadedFiles {
    /// Read as a stream: the file has no size, so what reads files as a whole stops early.
    static func paths(named name: String) throws -> Set<String> {
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps"))
        var text: [UInt8] = []
        while let chunk = try maps.read(upToCount: 1 << 16), !chunk.isEmpty { text += chunk }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        return Set(lines.map { String($0.drop { $0 != "/" }) }.filter { $0.hasSuffix("/\(name)") })
    }
}

/// `Plugins/Notes`, built as its own package beside the host: with a `libAdapterKit.so` of its own.
enum NotesPlugin {
    /// Builds once for all tests.
    static let folder = Result {
        let scratch = Repository.root.appending(path: ".build/plugin-fixtures")
        try Tool.run(
            "swift", "build", "--package-path", Repository.root.appending(path: "Plugins/Notes").path,
            "--scratch-path", scratch.path, "--product", "Notes", "-c", Repository.configuration, "-j", "2")
        return scratch.appending(path: Repository.configuration).resolvingSymlinksInPath()
    }

    static func path() throws -> String {
        try folder.get().appending(path: "libNotes.so").path
    }
}

/// Changes bytes of a file in place.
struct PatchedFile {
    let path: String

    func replace(at offset: Int, with bytes: some Sequence<UInt8>) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
    }

    func truncate(to size: Int) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        try file.truncate(atOffset: UInt64(size))
    }

    func bytes() throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    /// A little-endian number of the file.
    func number(at offset: Int, bytes count: Int) throws -> Int {
        try bytes()[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Where the stamp stands.
    func stampOffset() throws -> Int {
        guard let range = try Data(bytes()).range(of: Data("AdapterKit-Stamp".utf8)) else {
            throw Tool.Failure(description: "no stamp in \(path)")
        }
        return range.lowerBound
    }
}

/// Why the host refuses to load the file; nil, with an issue, where it does not refuse.
func refusal(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) -> PluginError.Reason? {
    #expect(throws: PluginError.self, sourceLocation: sourceLocation) { _ = try PluginHost().load(path) }?.reason
}

/// The checkout that these tests belong to, through whatever links they are built.
enum Repository {
    static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static let stampModule = root.appending(path: "Sources/AdapterKit/CAdapterKitStamp").path

    #if DEBUG
        static let configuration = "debug"
    #else
        static let configuration = "release"
    #endif
}

/// A command of the toolchain, waited for. Throws its output where it fails.
///
/// By the shell rather than Foundation's `Process`, which looks through the open files of this process before it starts
/// one, reads past the end of their list where they are many, and so crashed whole runs of the tests.
enum Tool {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func run(_ command: String...) throws {
        let line = command.map(quoted).joined(separator: " ")
        guard let output = popen(line + " 2>&1", "r") else { throw Failure(description: "\(line): errno \(errno)") }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&piece, 1, piece.count, output), count > 0 { text += piece[..<count] }
        guard pclose(output) == 0 else {
            throw Failure(description: "\(line): \(String(decoding: text, as: UTF8.self))")
        }
    }

    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
