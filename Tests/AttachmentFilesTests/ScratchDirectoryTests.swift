import AdapterKit
import AttachmentFiles
import Foundation
import Testing

@Suite struct ScratchDirectoryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var url: URL { folder.url.appending(path: ScratchDirectory.folderName) }

    private func collect(_ stream: any ByteStream) async throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        while let piece = try await stream.next() { pieces.append(piece) }
        return pieces
    }

    @Test func `what was written is read in pieces, as often as is asked for`() async throws {
        let file = try ScratchDirectory(url).create()
        let (first, second) = ([UInt8](repeating: 1, count: 100_000), [UInt8](repeating: 2, count: 5))
        try file.append(first)
        try file.append(second)
        for _ in 1...2 {
            let pieces = try await collect(file.contents())
            #expect(pieces.count > 1 && Array(pieces.joined()) == first + second)
        }
    }

    @Test func `a file goes with its last user, and is its owner's alone`() throws {
        let scratch = try ScratchDirectory(url)
        do {
            let file = try scratch.create()
            try file.append([1])
            let names = folder.files(ScratchDirectory.folderName)
            #expect(names.count == 1)
            let path = url.appending(path: names.first ?? "").path
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
        #expect(folder.files(ScratchDirectory.folderName).isEmpty)
    }

    @Test func `a reader that is cancelled gets nothing more`() async throws {
        let file = try ScratchDirectory(url).create()
        try file.append([UInt8](repeating: 1, count: 200_000))
        let reader = try file.contents()
        #expect(try await reader.next() != nil)
        reader.cancel()
        #expect(try await reader.next() == nil)
    }

    @Test func `what an earlier process left is removed, a link itself and not what it leads to`() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data([1]).write(to: url.appending(path: "left"))
        _ = try ScratchDirectory(url)
        #expect(folder.files(ScratchDirectory.folderName).isEmpty)
        let other = folder.url.appending(path: "other")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        try Data([1]).write(to: other.appending(path: "kept"))
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: other)
        _ = try ScratchDirectory(url)
        #expect(folder.files("other") == ["kept"])
        #expect(folder.files(ScratchDirectory.folderName).isEmpty)
    }

    @Test func `a folder that is gone is an error of the store`() throws {
        let scratch = try ScratchDirectory(url)
        try FileManager.default.removeItem(at: url)
        let error = #expect(throws: PorticoError.self) { _ = try scratch.create() }
        #expect(error?.code == .storeUnavailable)
    }
}
