import AdapterKit
import Foundation
import PluginHost
import Testing

struct LoadingTests {
    @Test func `A plugin of a package of its own brings its adapter into this process`() throws {
        let plugin = try PluginHost().load(NotesPlugin.path())
        #expect(plugin.module.name == "notes")
        #expect(plugin.stamp == .ofHost)
        let declaration = try plugin.module.declare(AdapterConfiguration())
        #expect(declaration.entity("notes")?.rows.write == .owner("owner"))
        #expect(declaration.operation("share") != nil)
    }

    @Test func `Host and plugin share one AdapterKit, though each was built with its own`() throws {
        let plugin = try PluginHost().load(NotesPlugin.path())
        let ownCopy = try NotesPlugin.folder.get().appending(path: "libAdapterKit.so").path
        #expect(FileManager.default.fileExists(atPath: ownCopy))
        let loaded = try LoadedFiles.paths(named: "libAdapterKit.so")
        #expect(loaded.count == 1 && loaded.first != ownCopy)
        #expect((plugin.module as Any) is any AdapterModule.Type)
    }

    @Test func `A plugin's adapter answers calls, and its errors are the host's errors`() async throws {
        let adapter = try PluginHost().load(NotesPlugin.path()).module.make(AdapterConfiguration())
        #expect(try await adapter.frontPageEntries().map(\.title) == ["Notes"])
        let call = Call(
            operation: "share", input: ["id": "", "with": []], caller: .anonymous, requestID: "test",
            deadline: .now + .seconds(60), records: NoRecords(), log: .discarding)
        let failure = await #expect(throws: PorticoError.self) { try await adapter.handle(call) }
        #expect(failure?.code == .requestInvalid && failure?.target == "id")
    }

    @Test func `Loading a plugin again gives the same module`() throws {
        let first = try PluginHost().load(NotesPlugin.path())
        let second = try PluginHost().load(NotesPlugin.path())
        #expect(ObjectIdentifier(first.module) == ObjectIdentifier(second.module))
    }

    @Test func `A plugin is found through a symbolic link, under the name of the file behind it`() throws {
        let folder = try Folder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("libLink.so"), withDestinationPath: NotesPlugin.path())
        #expect(try PluginHost().load(folder.path("libLink.so")).path == NotesPlugin.path())
    }
}

private struct NoRecords: RecordStore {
    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? { nil }
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage { RecordPage(records: [], next: nil) }
    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int { 0 }
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        throw PorticoError(.accessDenied, "There are no records.")
    }
}
