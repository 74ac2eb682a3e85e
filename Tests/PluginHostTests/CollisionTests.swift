import AdapterKit
import PluginHost
import Testing

struct CollisionTests {
    private let folder = try! Folder()

    private func refusal(of paths: [String], besides taken: Set<AdapterName> = []) -> PluginError.Reason? {
        #expect(throws: PluginError.self) {
            try PluginHost().load(paths, besides: taken)
        }?.reason
    }

    @Test func `Plugins of different names stand side by side`() throws {
        let other = try SwiftPlugin(in: folder, module: "Beside", SwiftPlugin.adapter(named: "beside"))
        let plugins = try PluginHost().load([NotesPlugin.path(), other.path], besides: ["feeds"])
        #expect(plugins.map { $0.module.name } == ["notes", "beside"])
    }

    @Test func `An adapter's name that the host has already is refused`() throws {
        #expect(refusal(of: [try NotesPlugin.path()], besides: ["notes"]) == .adapterNameTaken("notes"))
    }

    @Test func `Two plugins with adapters of one name are refused`() throws {
        let other = try SwiftPlugin(in: folder, module: "OtherNotes", SwiftPlugin.adapter(named: "notes"))
        #expect(refusal(of: [try NotesPlugin.path(), other.path]) == .adapterNameTaken("notes"))
    }

    @Test func `Two plugins with Swift modules of one name are refused`() throws {
        let other = try SwiftPlugin(in: folder, module: "Notes", SwiftPlugin.adapter(named: "memos"))
        #expect(refusal(of: [try NotesPlugin.path(), other.path]) == .swiftModuleNameTaken("Notes"))
    }

    @Test func `One bad file among several keeps them all from running`() throws {
        let good = try CPlugin(in: folder)
        let bad = try good.folder.write([], to: "empty.so")
        #expect(refusal(of: [good.path, bad]) == .empty)
        #expect(!good.hasRun)
    }
}
