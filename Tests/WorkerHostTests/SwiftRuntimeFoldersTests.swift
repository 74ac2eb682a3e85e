import AdapterKit
import Foundation
import Testing
import WorkerHost

struct SwiftRuntimeFoldersTests {
    private let folder = try! TemporaryFolder()

    /// A program that is linked to look for libraries in these folders.
    private func program(searching paths: String...) throws -> String {
        let source = try folder.write("int main(void) { return 0; }".utf8, to: "program.c")
        // Not by Foundation's `Process`, which reads past the end of the list of open files where they are many.
        let command = "clang -o '\(folder.path("program"))' '\(source)' '-Wl,-rpath,\(paths.joined(separator: ":"))'"
        let compiler = try #require(popen(command, "r"))
        #expect(pclose(compiler) == 0)
        return folder.path("program")
    }

    private func subfolder(_ name: String, holding files: String...) throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
        for file in files { _ = try folder.write([], to: "\(name)/\(file)") }
        return folder.path(name)
    }

    @Test func `Of what a program searches, the folders with a Swift runtime are named`() throws {
        let runtime = try subfolder("toolchain", holding: "libswiftCore.so", "libswiftSwiftOnoneSupport.so")
        let secrets = try subfolder("secrets", holding: "key.pem")
        let path = try program(searching: "$ORIGIN", secrets, runtime, folder.path("absent"), "toolchain")
        #expect(SwiftRuntimeFolders.namedFolders(byProgramAt: path) == [runtime])
    }

    @Test func `A link to a runtime is named by where it leads`() throws {
        let runtime = try subfolder("toolchain", holding: "libswiftCore.so")
        try FileManager.default.createSymbolicLink(atPath: folder.path("current"), withDestinationPath: runtime)
        #expect(
            SwiftRuntimeFolders.namedFolders(byProgramAt: try program(searching: folder.path("current"))) == [runtime])
    }

    @Test func `A folder in which the library's name is a folder is none`() throws {
        let runtime = try subfolder("toolchain/libswiftCore.so")
        #expect(
            SwiftRuntimeFolders.namedFolders(byProgramAt: try program(searching: runtime, folder.path("toolchain")))
                == [])
    }

    @Test func `A script and what is not there name none`() throws {
        let script = try folder.write("#!/usr/bin/python3\n".utf8, to: "script")
        #expect(SwiftRuntimeFolders.namedFolders(byProgramAt: script) == [])
        #expect(SwiftRuntimeFolders.namedFolders(byProgramAt: folder.path("absent")) == [])
    }

    @Test func `Whatever byte of the dynamic section is changed, reading ends`() throws {
        let runtime = try subfolder("toolchain", holding: "libswiftCore.so")
        let path = try program(searching: runtime)
        let original = try Data(contentsOf: URL(filePath: path))
        var random = SeededRandom(seed: 415)
        for _ in 0..<500 {
            let offset = Int.random(in: 0..<original.count, using: &random)
            try replace(at: offset, with: UInt8.random(in: 0...255, using: &random), in: path)
            #expect(SwiftRuntimeFolders.namedFolders(byProgramAt: path).allSatisfy { $0 == runtime })
            try replace(at: offset, with: original[offset], in: path)
        }
        #expect(SwiftRuntimeFolders.namedFolders(byProgramAt: path) == [runtime])
    }

    private func replace(at offset: Int, with byte: UInt8, in path: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data([byte]))
    }
}
