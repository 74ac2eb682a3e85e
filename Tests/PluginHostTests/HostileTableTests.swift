import Foundation
import PluginHost
import Testing

/// Files whose header is right and whose tables of segments and sections are not.
struct HostileTableTests {
    private let plugin: CPlugin
    private let file: PatchedFile

    init() throws {
        plugin = try CPlugin(in: Folder())
        file = PatchedFile(path: plugin.path)
    }

    /// Offsets of the entries of a table whose offset, entry size and count stand at those places of the header.
    private func entries(_ table: Int, _ size: Int, _ count: Int) throws -> [Int] {
        let start = try file.number(at: table, bytes: 8)
        let size = try file.number(at: size, bytes: 2)
        return try (0..<file.number(at: count, bytes: 2)).map { start + $0 * size }
    }

    private func segments() throws -> [Int] { try entries(32, 54, 56) }
    private func sections() throws -> [Int] { try entries(40, 58, 60) }

    private func section(at offset: Int) throws -> Int {
        try #require(sections().first { try file.number(at: $0 + 24, bytes: 8) == offset })
    }

    private func expectRefusal(_ reason: PluginError.Reason) {
        #expect(refusal(plugin.path) == reason)
        #expect(!plugin.hasRun)
    }

    @Test func `A mapped segment that ends beyond the file is refused`() throws {
        let mapped = try #require(segments().last { try file.number(at: $0, bytes: 4) == 1 })
        try file.replace(at: mapped + 32 + 3, with: [1])
        expectRefusal(.truncated)
    }

    @Test func `A section that ends beyond the file is refused`() throws {
        try file.replace(at: section(at: file.stampOffset()) + 32 + 3, with: [1])
        expectRefusal(.truncated)
    }

    @Test(arguments: [[0xff, 0x00], [0x01, 0x01], [0x00, 0x00]] as [[UInt8]])
    func `A stamp's section of another size is refused`(size: [UInt8]) throws {
        try file.replace(at: section(at: file.stampOffset()) + 32, with: size)
        expectRefusal(.malformed("section .adapterkit.stamp is not one of 256 bytes"))
    }

    @Test func `Two sections with a stamp's name are refused`() throws {
        let stamp = try section(at: file.stampOffset())
        let other = try #require(sections().dropFirst().first { $0 != stamp })
        try file.replace(at: other, with: file.bytes()[stamp..<stamp + 64])
        expectRefusal(.malformed("section .adapterkit.stamp is not one of 256 bytes"))
    }

    @Test func `More section names than a library could need are refused without reading them`() throws {
        let names = try sections()[file.number(at: 62, bytes: 2)]
        try file.truncate(to: 1 << 23)
        try file.replace(at: names + 32, with: [1, 0, 0x10])
        expectRefusal(.malformed("too many section names"))
    }
}
