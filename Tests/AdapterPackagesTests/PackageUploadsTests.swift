import AdapterKit
import Foundation
import Testing

@testable import AdapterPackages

@Suite struct PackageUploadsTests {
    private let folder: TemporaryFolder
    private let uploads: PackageUploads
    private var root: String { folder.path + "/adapters" }

    init() throws {
        folder = try TemporaryFolder()
        uploads = PackageUploads(folder.path + "/adapters")
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch { return "\(error)" }
    }

    @Test func `a package that comes in pieces is opened as one that was copied`() throws {
        let path = try folder.package("1.0.0", name: "inventory")
        let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
        let id = try uploads.begin()
        var offset = 0
        while offset < bytes.count {
            let piece = Array(bytes[offset..<min(offset + 700, bytes.count)])
            offset = try uploads.append(piece, at: offset, to: id)
            // Sent once more, since its answer was lost.
            #expect(try uploads.append(piece, at: offset - piece.count, to: id) == offset)
        }
        #expect(try AdapterPackage(uploads.file(of: id)).manifest.name == "inventory")
        uploads.end(id)
        uploads.end(id)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
        #expect(refusal { _ = try uploads.file(of: id) } != nil)
    }

    @Test func `pieces beyond what is there, of nothing, and too large ones are refused`() throws {
        let id = try uploads.begin()
        #expect(refusal { _ = try uploads.append([1], at: 1, to: id) }?.contains("beyond the 0 bytes") == true)
        #expect(refusal { _ = try uploads.append([1], at: -1, to: id) } != nil)
        #expect(refusal { _ = try uploads.append([1], at: .max, to: id) } != nil)
        #expect(refusal { _ = try uploads.append([1], at: 0, to: "../\(id)") }?.contains("no such upload") == true)
        let large = [UInt8](repeating: 0, count: PackageUploads.longestPiece + 1)
        #expect(refusal { _ = try uploads.append(large, at: 0, to: id) }?.contains("at most") == true)
        #expect(try uploads.append([1], at: 0, to: id) == 1)
    }

    @Test func `the oldest upload gives way, and the next start removes what is left`() throws {
        let first = try uploads.begin()
        for _ in 0..<PackageUploads.mostAtOnce { _ = try uploads.begin() }
        #expect(refusal { _ = try uploads.file(of: first) } != nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root).count == PackageUploads.mostAtOnce)
        try InstalledAdapters(root).removeUnfinished()
        #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
    }
}
