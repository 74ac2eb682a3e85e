import AdapterKit
import Foundation
import PluginHost
import Testing

/// Files that are no plugin, or only the beginning of one.
struct ForeignFileTests {
    private let folder = try! Folder()

    @Test func `No file, an empty file and a text file each have their own refusal`() throws {
        #expect(refusal(folder.path("none.so")) == .unreadable("No such file or directory"))
        #expect(refusal(try folder.write([], to: "empty.so")) == .empty)
        #expect(refusal(try folder.write("# a script\n".utf8, to: "text.so")) == .notELF)
    }

    @Test(arguments: [1, 2, 3, 5, 63, 64, 4096])
    func `Random bytes are refused`(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        // The first byte is never that of an ELF file.
        let bytes = (0..<count).map { $0 == 0 ? 0x23 : UInt8.random(in: 0...255, using: &random) }
        #expect(refusal(try folder.write(bytes, to: "random.so")) == .notELF)
    }

    @Test func `A system library has no stamp`() throws {
        let library = try #require(try LoadedFiles.paths(named: "libc.so.6").first)
        #expect(refusal(library) == .noStamp)
    }

    @Test func `AdapterKit itself is no plugin`() throws {
        let path = try NotesPlugin.folder.get().appending(path: "libAdapterKit.so").path
        #expect(refusal(path) == .noStamp)
    }

    @Test func `A program is no library`() throws {
        let program = folder.path("program")
        let source = try folder.write("int main(void) { return 0; }\n".utf8, to: "program.c")
        try Tool.run("clang", "-no-pie", "-o", program, source)
        #expect(refusal(program) == .malformed("not a shared library"))
    }

    @Test func `A file cut off anywhere is refused as such, and nothing of it runs`() throws {
        let plugin = try CPlugin(in: folder)
        try refuseEveryTruncation(of: plugin.path)
        #expect(!plugin.hasRun)
    }

    @Test func `A real plugin cut off anywhere is refused as such`() throws {
        try refuseEveryTruncation(of: try folder.copy(NotesPlugin.path(), to: "libCut.so"))
    }

    /// At every 64 bytes, and one byte before the end.
    private func refuseEveryTruncation(of path: String) throws {
        let file = PatchedFile(path: path)
        let size = try file.bytes().count
        for length in [size - 1] + stride(from: (size - 1) / 64 * 64, to: 0, by: -64) {
            try file.truncate(to: length)
            #expect(refusal(path) == .truncated, "at \(length) of \(size) bytes")
        }
        try file.truncate(to: 0)
        #expect(refusal(path) == .empty)
    }
}
