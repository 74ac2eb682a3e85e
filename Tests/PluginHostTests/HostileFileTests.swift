import AdapterKit
import Foundation
import PluginHost
import Testing

/// Files made to lead the reader astray.
struct HostileFileTests {
    private let plugin = try! CPlugin(in: Folder())

    struct Lie: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let offset: Int
        let bytes: [UInt8]
        let reason: PluginError.Reason

        init(_ what: String, at offset: Int, _ bytes: [UInt8], _ reason: PluginError.Reason) {
            testDescription = what
            self.offset = offset
            self.bytes = bytes
            self.reason = reason
        }
    }

    static let huge = [UInt8](repeating: 0xff, count: 8)
    static let lies = [
        Lie("32 bit", at: 4, [1], .otherPlatform("not 64 bit")),
        Lie("big-endian", at: 5, [2], .otherPlatform("not little-endian")),
        Lie("an object file", at: 16, [1, 0], .malformed("not a shared library")),
        Lie("program headers beyond every file", at: 32, huge, .truncated),
        Lie("section headers beyond every file", at: 40, huge, .truncated),
        Lie("section headers whose end overflows", at: 40, [0xc0] + huge.dropFirst(), .truncated),
        Lie("program headers without a size", at: 54, [0, 0], .malformed("headers of 0 bytes, not 56")),
        Lie("65,535 program headers", at: 56, [0xff, 0xff], .truncated),
        Lie("section headers of one byte", at: 58, [1, 0], .malformed("headers of 1 bytes, not 64")),
        Lie("65,535 section headers", at: 60, [0xff, 0xff], .truncated),
        Lie("no section headers", at: 60, [0, 0], .noStamp),
        Lie("names in a section that is not there", at: 62, [0xff, 0xff], .malformed("no section names")),
    ]

    @Test(arguments: lies) func `A header that lies is refused, and nothing of the file runs`(_ lie: Lie) throws {
        try PatchedFile(path: plugin.path).replace(at: lie.offset, with: lie.bytes)
        #expect(refusal(plugin.path) == lie.reason)
        #expect(!plugin.hasRun)
    }

    @Test func `A file of another machine is refused`() throws {
        let file = PatchedFile(path: plugin.path)
        let machine = try file.bytes()[18]
        try file.replace(at: 18, with: [machine == 8 ? 9 : 8])
        #expect(
            refusal(plugin.path) == .otherPlatform("machine \(machine == 8 ? 9 : 8), this host is \(machine)"))
    }

    /// Checked, not loaded: bytes that the reader does not look at may be harmless to it and deadly to the loader.
    @Test func `Whatever byte of the headers is changed, checking ends with a stamp or an error`() throws {
        let file = PatchedFile(path: plugin.path)
        let original = try file.bytes()
        let sectionHeaders = try file.number(at: 40, bytes: 8)
        var random = SeededRandom(seed: 60)
        var refusals = 0
        for offset in Array(0..<512) + Array(sectionHeaders..<original.count) {
            try file.replace(at: offset, with: [UInt8.random(in: 0...255, using: &random)])
            do throws(PluginError) { try PluginHost().check(plugin.path) } catch { refusals += 1 }
            try file.replace(at: offset, with: [original[offset]])
        }
        #expect(refusals > 100)
        #expect(try PluginHost().check(plugin.path).stamp == .ofHost)
        #expect(!plugin.hasRun)
    }
}
