import PluginHost
import Testing

/// Files with the right stamp whose code runs, and which are no plugins nevertheless.
struct EntryTests {
    private let folder = try! Folder()

    @Test func `A library whose stamp is right is loaded, so its code runs`() throws {
        let plugin = try CPlugin(in: folder)
        #expect(refusal(plugin.path) == .noModule)
        #expect(plugin.hasRun)
    }

    @Test func `A library without the entry for the stamp is refused`() throws {
        let plugin = try CPlugin(in: folder, entries: "const void *use(void) { return adapterKitStamp(); }")
        #expect(refusal(plugin.path) == .entryMissing("adapterkit_stamp"))
    }

    @Test func `A library without the entry for the module is refused`() throws {
        #expect(
            refusal(try CPlugin(in: folder, entries: CPlugin.stampEntry).path) == .entryMissing("adapterkit_module"))
    }

    @Test func `A library whose entry tells another stamp than its file is refused`() throws {
        let other = """
            static char copy[256];
            const void *adapterkit_stamp(void) {
                for (int i = 0; i < 256; i++) copy[i] = ((const char *)adapterKitStamp())[i];
                copy[16] = '9';
                return copy;
            }
            """
        #expect(refusal(try CPlugin(in: folder, entries: other).path) == .replacedWhileLoading)
    }

    @Test func `A symbol that no library has is an error at the start, not at the first call`() throws {
        let plugin = try CPlugin(
            in: folder, entries: CPlugin.stampEntry + "extern void nobody(void); void call(void) { nobody(); }")
        guard case .notLoadable(let why) = refusal(plugin.path) else {
            Issue.record("not refused by the loader")
            return
        }
        #expect(why.contains("nobody"))
        #expect(!plugin.hasRun)
    }

    @Test func `An object that is no box of the shared AdapterKit is refused`() throws {
        #expect(refusal(try SwiftPlugin(in: folder, module: "OtherBox", SwiftPlugin.otherBox).path) == .noModule)
    }
}
