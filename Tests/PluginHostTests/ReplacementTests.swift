import AdapterKit
import Foundation
import PluginHost
import Testing

/// The file at a plugin's path is another one when it is loaded than when it was checked.
struct ReplacementTests {
    private let folder = try! Folder()

    @Test func `What is loaded is the file that was checked, whatever is renamed to its path meanwhile`() throws {
        let checked = try SwiftPlugin(in: folder, module: "Checked", SwiftPlugin.adapter(named: "checked"))
        let intruder = try CPlugin(in: Folder())
        let file = try PluginHost().check(checked.path)
        try FileManager.default.removeItem(atPath: checked.path)
        try FileManager.default.moveItem(atPath: intruder.path, toPath: checked.path)
        #expect(try file.load().module.name == "checked")
        #expect(!intruder.hasRun)
    }

    @Test func `A file that is gone when it is loaded is loaded all the same`() throws {
        let plugin = try SwiftPlugin(in: folder, module: "Gone", SwiftPlugin.adapter(named: "gone"))
        let file = try PluginHost().check(plugin.path)
        try FileManager.default.removeItem(atPath: plugin.path)
        #expect(try file.load().module.name == "gone")
    }

    @Test func `The folder may be another one by then`() throws {
        let inner = folder.path("inner")
        let elsewhere = try Folder()
        try FileManager.default.createDirectory(
            atPath: inner, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        let plugin = try SwiftPlugin(in: folder, module: "Inner", SwiftPlugin.adapter(named: "inner"))
        try FileManager.default.moveItem(atPath: plugin.path, toPath: inner + "/libInner.so")
        let intruder = try CPlugin(in: elsewhere)
        let file = try PluginHost().check(inner + "/libInner.so")
        try FileManager.default.moveItem(atPath: inner, toPath: folder.path("aside"))
        try FileManager.default.createSymbolicLink(atPath: inner, withDestinationPath: elsewhere.url.path)
        try FileManager.default.moveItem(atPath: intruder.path, toPath: elsewhere.path("libInner.so"))
        #expect(try file.load().module.name == "inner")
        #expect(!intruder.hasRun)
    }

    @Test func `A file that is written to between its check and its loading is refused, and nothing of it runs`() throws
    {
        let plugin = try CPlugin(in: folder)
        let file = try PluginHost().check(plugin.path)
        let handle = try FileHandle(forUpdating: URL(filePath: plugin.path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([0]))
        try handle.close()
        let error = #expect(throws: PluginError.self) { try file.load() }
        #expect(error?.reason == .replacedWhileLoading)
        #expect(!plugin.hasRun)
    }

    @Test func `Plugins that are loaded one after the other do not stand for each other`() throws {
        var names: [AdapterName] = []
        for number in 0..<3 {
            let name = "row\(number)"
            let plugin = try SwiftPlugin(in: folder, module: "Row\(number)", SwiftPlugin.adapter(named: name))
            names.append(try PluginHost().load(plugin.path).module.name)
        }
        #expect(names == ["row0", "row1", "row2"])
    }

    @Test func `A library beside the host that a plugin's run path names is found`() throws {
        let inner = folder.path("plugins")
        let libraries = folder.path("lib")
        for path in [inner, libraries] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        }
        let source = try folder.write("int helped(void) { return 7; }\n".utf8, to: "help.c")
        try Tool.run("clang", "-shared", "-fPIC", "-o", libraries + "/libHelp.so", source)
        let text = """
            #include "AdapterKitStamp.h"
            extern int helped(void);
            const void *adapterkit_stamp(void) { return adapterKitStamp(); }
            void *adapterkit_module(void) { return helped() == 7 ? 0 : (void *)1; }
            """
        let plugin = try folder.write(text.utf8, to: "plugin.c")
        try Tool.run(
            "clang", "-shared", "-fPIC", "-I", Repository.stampModule, "-o", inner + "/libNeedy.so", plugin, "-L",
            libraries, "-lHelp", "-Wl,-rpath,$ORIGIN/../lib")
        #expect(refusal(inner + "/libNeedy.so") == .noModule)
    }
}
