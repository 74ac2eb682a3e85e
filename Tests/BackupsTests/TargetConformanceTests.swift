import AdapterKit
import Foundation
import Testing

@testable import Backups

/// What every target promises, of each of them.
@Suite struct TargetConformanceTests {
    enum Kind: CaseIterable { case folder, objectStorage }

    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "target-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder.appending(path: "there"), withIntermediateDirectories: true)
    }

    private func target(_ kind: Kind) throws -> any BackupTarget {
        switch kind {
        case .folder: FolderTarget(folder.appending(path: "there").path)
        case .objectStorage:
            S3Target(try #require(MemoryStorage.place), through: MemoryStorage(), clock: TestClock())
        }
    }

    private func name(_ text: String) throws -> BackupObjectName { try #require(BackupObjectName(text)) }

    @Test(arguments: Kind.allCases)
    func `what was written is read, listed, replaced and removed`(_ kind: Kind) async throws {
        let target = try target(kind)
        try await target.probe()
        #expect(try await target.list(.copies) == [])
        for index in 0..<5 { try await target.write(Array("\(index)".utf8), to: name("copies/a/\(index)")) }
        try await target.write([], to: name("copies/b/empty"))
        try await target.write(Array("other".utf8), to: name("copiesother/c"))
        #expect(
            try await target.list(.copies).map(\.name.text) == [
                "copies/a/0", "copies/a/1", "copies/a/2", "copies/a/3", "copies/a/4", "copies/b/empty",
            ])
        #expect(try await target.list(name("copies/b")) == [BackupObject(try name("copies/b/empty"), size: 0)])
        #expect(try await target.read(name("copies/b/empty"), limit: 10) == [])
        try await target.write(Array("replaced".utf8), to: name("copies/a/1"))
        #expect(try await target.read(name("copies/a/1"), limit: 8) == Array("replaced".utf8))
        await #expect(throws: PorticoError.self) { _ = try await target.read(name("copies/a/1"), limit: 7) }
        try await target.remove(name("copies/a/1"))
        try await target.remove(name("copies/a/1"))
        await #expect { _ = try await target.read(name("copies/a/1"), limit: 10) } throws: {
            ($0 as? PorticoError)?.code == .recordNotFound
        }
        let missing = folder.appending(path: "missing").path
        await #expect { try await target.read(name("copies/a/1"), into: missing) } throws: {
            ($0 as? PorticoError)?.code == .recordNotFound
        }
        #expect(!FileManager.default.fileExists(atPath: missing))
        try FileManager.default.removeItem(at: folder)
    }

    @Test(arguments: Kind.allCases, [0, 1, 8 << 20, (8 << 20) + 1, 20_000_000])
    func `files of every size come back as they were`(_ kind: Kind, _ size: Int) async throws {
        let target = try target(kind)
        var random = SeededNumbers(seed: UInt64(size))
        let bytes = (0..<(size + 7) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }.prefix(size)
        let (source, copy) = (folder.appending(path: "source"), folder.appending(path: "copy"))
        try Data(bytes).write(to: source)
        try await target.write(file: source.path, to: name("copies/a/store"))
        try await target.read(name("copies/a/store"), into: copy.path)
        #expect(try Data(contentsOf: copy) == Data(bytes))
        #expect(try await target.list(.copies).map(\.size) == [Int64(size)])
        // Nothing is overwritten here.
        await #expect(throws: PorticoError.self) { try await target.read(name("copies/a/store"), into: copy.path) }
        try FileManager.default.removeItem(at: folder)
    }

    @Test func `a folder that is not there is never made`() async throws {
        let target = FolderTarget(folder.appending(path: "unmounted").path)
        await #expect { try await target.write([1], to: name("copies/a")) } throws: {
            ($0 as? PorticoError)?.message.contains("is not there") == true
        }
        #expect(throws: PorticoError.self) { try target.check() }
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "unmounted").path))
        try FileManager.default.removeItem(at: folder)
    }

    @Test func `mistakes at an object storage are plain sentences`() async throws {
        func message(_ place: S3Place?, _ storage: MemoryStorage = MemoryStorage()) async throws -> String {
            do {
                try await S3Target(try #require(place), through: storage, clock: TestClock()).probe()
                return ""
            } catch { return (error as? PorticoError)?.message ?? "\(error)" }
        }
        var place = try #require(MemoryStorage.place)
        #expect(
            try await message(place, MemoryStorage(bucket: "other"))
                == "The bucket bucket is not there: make it, or correct its name.")
        place.secretKey = Secret("wrong")
        #expect(try await message(place) == "The secret key does not belong to the access key.")
    }

    @Test func `names are paths in every target, and nothing else`() {
        for text in [
            "", "/", "a/", "/a", "a//b", "..", "a/../b", ".hidden", "a b", "a\n", "é",
            String(repeating: "a", count: 401),
        ] {
            #expect(BackupObjectName(text) == nil, "\(text)")
        }
        #expect(BackupObjectName("copies/20261126T232447Z-5f0c91aa/manifest.json") != nil)
        #expect(CopyName("20261126T232447Z-5f0c91aa") != nil)
        for text in [
            "20261126T232447Z-5f0c91aA", "20261126T232447Z-5f0c91a", "2026112６T232447Z-5f0c91aa",
            "../../../../etc/passwd-xx",
        ] {
            #expect(CopyName(text) == nil, "\(text)")
        }
    }
}

@Suite struct S3SignatureTests {
    private let signature = S3Signature(
        accessKey: Secret("AKIAIOSFODNN7EXAMPLE"), secretKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1")

    /// The examples of "Signature Calculations for the Authorization Header", Amazon S3 API Reference.
    @Test func `requests are signed as in the examples of the specification`() throws {
        func signed(_ query: [(name: String, value: String)]) throws -> String {
            let time = try #require(WireDate(rfc3339: "2013-05-24T00:00:00Z"))
            let fields = signature.fields(
                "GET", host: "examplebucket.s3.amazonaws.com", path: "/", query: query, body: [], at: time)
            return try #require(fields.last?.value)
        }
        #expect(
            try signed([("lifecycle", "")]).hasSuffix(
                "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
        #expect(
            try signed([("prefix", "J"), ("max-keys", "2")]).hasSuffix(
                "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
    }

    @Test func `answers in XML are read, and others are none`() {
        let list =
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><Contents><Key>a</Key></Contents><KeyCount>2</KeyCount><Contents><Key>b</Key></Contents></ListBucketResult>"
        let document = S3Document(Array(list.utf8))
        #expect(document?.elements("Contents").compactMap { $0["Key"]?.stringValue } == ["a", "b"])
        #expect(document?.errorCode == nil && document?.text("Name") == "b")
        #expect(S3Document(Array("<Error><Code>AccessDenied</Code></Error>".utf8))?.errorCode == "AccessDenied")
        #expect(S3Document(Array("busy".utf8)) == nil && S3Document([]) == nil)
    }
}
