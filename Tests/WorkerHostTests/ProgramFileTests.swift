import Foundation
import Testing
import WorkerHost

struct ProgramFileTests {
    private let folder = try! TemporaryFolder()
    private let path: String

    init() throws {
        path = try folder.write("#!/bin/sh\n".utf8, to: "program")
        try folder.setPermissions(0o755, of: path)
    }

    private func refusal(_ path: String) -> ProgramFileError? {
        #expect(throws: ProgramFileError.self) { try ProgramFile(path) }
    }

    @Test func `A program is known by where its links lead`() throws {
        let link = folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(try ProgramFile(link).path == path)
    }

    @Test func `A file that every user may write is refused`() throws {
        try folder.setPermissions(0o757, of: path)
        #expect(refusal(path)?.reason == .writableByEveryone(path))
    }

    @Test(arguments: [0o777, 0o1777])
    func `A file in a folder that every user may write is refused, sticky or not`(permissions: Int) throws {
        try folder.setPermissions(permissions, of: folder.url.path)
        #expect(refusal(path)?.reason == .writableByEveryone(folder.url.path))
    }

    @Test func `A folder further up that every user may write is refused, unless it is sticky`() throws {
        let inner = try folder.write("#!/bin/sh\n".utf8, to: "inner/program")
        try folder.setPermissions(0o755, of: folder.path("inner"))
        try folder.setPermissions(0o755, of: inner)
        try folder.setPermissions(0o777, of: folder.url.path)
        #expect(refusal(inner)?.reason == .writableByEveryone(folder.url.path))
        try folder.setPermissions(0o1777, of: folder.url.path)
        #expect(try ProgramFile(inner).path == inner)
    }

    @Test func `A file that may not be executed, a folder and what is not there are refused`() throws {
        let text = try folder.write("text".utf8, to: "text")
        try folder.setPermissions(0o644, of: text)
        #expect(refusal(text)?.reason == .notExecutable)
        #expect(refusal(folder.url.path)?.reason == .notARegularFile)
        #expect(refusal(folder.path("absent"))?.path == folder.path("absent"))
    }
}

/// A folder of one test, gone with its last use.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "portico-programs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let file = url.appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        return file.path
    }

    func setPermissions(_ permissions: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }
}
