import Foundation
import PluginHost
import Testing

struct PermissionTests {
    private let plugin = try! CPlugin(in: Folder())

    @Test func `A file that every user may write is refused`() throws {
        try plugin.folder.setPermissions(0o757, of: plugin.path)
        #expect(refusal(plugin.path) == .writableByEveryone(plugin.path))
        #expect(!plugin.hasRun)
    }

    @Test(arguments: [0o777, 0o1777])
    func `A file in a folder that every user may write is refused, sticky or not`(permissions: Int) throws {
        try plugin.folder.setPermissions(permissions, of: plugin.folder.url.path)
        #expect(refusal(plugin.path) == .writableByEveryone(plugin.folder.url.path))
        #expect(!plugin.hasRun)
    }

    @Test func `A folder further up that every user may write is refused, unless it is sticky`() throws {
        let inner = plugin.folder.path("inner")
        try FileManager.default.createDirectory(
            atPath: inner, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        let path = try plugin.folder.copy(plugin.path, to: "inner/libInner.so")
        try plugin.folder.setPermissions(0o777, of: plugin.folder.url.path)
        #expect(refusal(path) == .writableByEveryone(plugin.folder.url.path))
        try plugin.folder.setPermissions(0o1777, of: plugin.folder.url.path)
        #expect(try PluginHost().check(path).stamp == .ofHost)
    }

    @Test func `A folder and a named pipe are no regular files`() throws {
        let pipe = plugin.folder.path("pipe.so")
        try Tool.run("mkfifo", pipe)
        #expect(refusal(pipe) == .notARegularFile)
        #expect(refusal(plugin.folder.url.path) == .notARegularFile)
    }
}
