import Foundation
import PluginHost
import Testing

struct StampTests {
    /// Where a stamp's texts begin, as `AdapterKitStamp.h` tells.
    private static let version = 16
    private static let hash = 32
    private static let compiler = 104

    private let plugin = try! CPlugin(in: Folder())

    private func patch(_ member: Int, _ text: String) throws {
        let file = PatchedFile(path: plugin.path)
        try file.replace(at: file.stampOffset() + member, with: Array(text.utf8))
    }

    @Test func `Another AdapterKit version is refused, and nothing of the file runs`() throws {
        try patch(Self.version, "9")
        let host = PluginStamp.ofHost.sdkVersion
        #expect(refusal(plugin.path) == .otherSDKVersion(plugin: "9" + host.dropFirst(), host: host))
        #expect(!plugin.hasRun)
    }

    @Test func `Other sources of the same version are refused, and nothing of the file runs`() throws {
        try patch(Self.hash, "xyz")
        let host = PluginStamp.ofHost.sdkHash
        #expect(refusal(plugin.path) == .otherSDKSources(plugin: "xyz" + host.dropFirst(3), host: host))
        #expect(!plugin.hasRun)
    }

    @Test func `Another compiler is refused, and nothing of the file runs`() throws {
        try patch(Self.compiler, "Clong")
        let host = PluginStamp.ofHost.compiler
        #expect(refusal(plugin.path) == .otherCompiler(plugin: "Clong" + host.dropFirst(5), host: host))
        #expect(!plugin.hasRun)
    }

    @Test(arguments: [0, version, hash, compiler])
    func `A stamp with an unprintable byte is refused, and nothing of the file runs`(member: Int) throws {
        try patch(member, "\u{1b}")
        #expect(refusal(plugin.path) == .malformedStamp)
        #expect(!plugin.hasRun)
    }

    @Test func `A stamp without its closing zero is refused`() throws {
        try patch(Self.version, "0123456789abcdef")
        #expect(refusal(plugin.path) == .malformedStamp)
    }

    @Test func `Checking a plugin tells its stamp and runs nothing`() throws {
        #expect(try PluginHost().check(plugin.path).stamp == .ofHost)
        #expect(!plugin.hasRun)
    }

    @Test func `Every refusal names the file and says what is wrong in one line`() throws {
        try patch(Self.version, "9")
        let failure = #expect(throws: PluginError.self) { try PluginHost().check(plugin.path) }
        let text = try #require(failure).description
        #expect(text.hasPrefix("plugin \(plugin.path): it was built against AdapterKit 9"))
        #expect(!text.contains("\n"))
    }
}
