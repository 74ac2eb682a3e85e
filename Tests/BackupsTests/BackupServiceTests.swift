import AdapterKit
import AttachmentFiles
import Crypto
import Foundation
import RecordStorage
import SQLiteStore
import Testing

@testable import Backups

/// A gateway's backups while it writes, and what is there once its machine is gone.
@Suite struct BackupServiceTests {
    private static func settings(_ temporary: TemporaryStore, keep: Int = 2) -> BackupSettings {
        BackupSettings(
            schedule: .every(3_600), keep: keep, interval: .milliseconds(200), waiting: 1 << 30,
            work: temporary.path("work"))
    }

    private static func service(
        _ temporary: TemporaryStore, _ attachments: AttachmentFiles, _ target: any BackupTarget, keep: Int = 2
    ) -> BackupService {
        let configuration = temporary.path("portico.yaml")
        try? Data("http:\n  port: 1\n".utf8).write(to: URL(fileURLWithPath: configuration))
        return BackupService(
            settings(temporary, keep: keep), target: target, store: temporary.store, attachments: attachments,
            clock: TestClock(), log: .discarding
        ) {
            BackupContents(
                version: "1", files: [.init(path: "configuration/portico.yaml", source: configuration)],
                adapters: [.init(name: "tests", version: "1", source: .builtIn)], certificates: [])
        }
    }

    private static func wait(until condition: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(600)
        while try await !condition() {
            try #require(ContinuousClock.now < end, "it did not come about")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Restores the last verified copy with the log into another store, and returns the texts of its records.
    private static func restored(
        from target: any BackupTarget, into folder: URL, piecesAtOnce: Int64 = 16
    ) async throws -> [String: String] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let reader = BackupReader(target, piecesAtOnce: piecesAtOnce)
        let manifest = try await reader.copy(named: nil)
        let file = folder.appending(path: "downloaded").path
        let database = try await reader.readDatabase(of: manifest, into: file, work: folder.path, .latest)
        #expect(database.missing == nil)
        let path = folder.appending(path: "store.sqlite").path
        _ = try StoreRestore(path: path).prepare(moving: file)
        let store = try SQLiteStore(SQLiteStoreSettings(path: path, clock: TestClock()))
        let records = try await TemporaryStore.install(in: store)
        var texts: [String: String] = [:]
        for record in try await records.query(Query(nil, limit: 500), in: "things").records {
            texts[record.id.text] = record["text"].stringValue
        }
        await store.close()
        return texts
    }

    @Test func `what was written some time before the machine was lost is restored, with its attachments`() async throws
    {
        let temporary = try await TemporaryStore()
        let attachments = try temporary.attachments()
        let target = FolderTarget(try temporary.folder("target"))
        let service = Self.service(temporary, attachments, target)
        try await temporary.put("first", "before the copy")
        let running = Task { await service.run() }
        try await Self.wait { service.figures.state != nil }
        let bytes = Array("attached".utf8)
        let digest = try #require(AttachmentDigest(Hexadecimal.text(SHA256.hash(data: bytes))))
        _ = try await attachments.append(bytes, at: 0, of: Int64(bytes.count), to: digest, from: "ann")
        try await temporary.put("second", "after the copy")
        let written = TestClock().now().secondsSince1970
        try await Self.wait { service.figures.state.map { $0 > written } ?? false }
        // The machine is gone: nothing is finished.
        let found = try await Self.restored(from: target, into: temporary.url.appending(path: "elsewhere"))
        #expect(found == ["first": "before the copy", "second": "after the copy"])
        #expect(try await BackupReader(target).allAttachments() == [digest: Int64(bytes.count)])
        let copy = try await BackupReader(target).copy(named: nil)
        #expect(copy.files.map(\.path) == ["configuration/portico.yaml"] && copy.adapters.map(\.name) == ["tests"])
        running.cancel()
        await running.value
        // In order: what was written last is there at once.
        try await temporary.put("third", "at the end")
        await service.finish()
        #expect(try await Self.restored(from: target, into: temporary.url.appending(path: "again")).count == 3)
        await temporary.store.close()
    }

    /// One commit of several pieces: what is read together ends in the midst of it.
    @Test func `what came after the copy is restored, however its pieces are read and while they are still written`()
        async throws
    {
        let temporary = try await TemporaryStore()
        let target = FolderTarget(try temporary.folder("target"))
        let service = Self.service(temporary, try temporary.attachments(), target)
        let running = Task { await service.run() }
        try await Self.wait { service.figures.state != nil }
        let text = String(repeating: "0123456789abcdef", count: 3 << 20)
        try await temporary.put("large", text)
        try await temporary.put("small", "after it")
        running.cancel()
        await running.value
        await service.finish()
        await temporary.store.close()
        let copy = try await BackupReader(target).copy(named: nil)
        #expect(try await target.list(.log(copy.stream)).count > 3)
        for piecesAtOnce in [1, 2, 16] as [Int64] {
            let found = try await Self.restored(
                from: target, into: temporary.url.appending(path: "by-\(piecesAtOnce)"), piecesAtOnce: piecesAtOnce)
            #expect(found["small"] == "after it" && found["large"] == text)
        }
        let found = try await Self.restored(from: LateTarget(target), into: temporary.url.appending(path: "late"))
        #expect(found["small"] == "after it")
    }

    @Test func `copies that are asked for are made, and older ones go with what they alone needed`() async throws {
        let temporary = try await TemporaryStore()
        let attachments = try temporary.attachments()
        let target = FolderTarget(try temporary.folder("target"))
        let service = Self.service(temporary, attachments, target, keep: 2)
        let running = Task { await service.run() }
        var names: [String] = []
        for index in 0..<4 {
            try await temporary.put("r\(index)", "text")
            names.append(try await service.makeCopyNow().name)
            // Names of one second differ by chance.
            try await Task.sleep(for: .milliseconds(1_100))
        }
        try await Self.wait { try await service.copies().count == 2 }
        #expect(try await service.copies().map(\.name.text) == Array(names.suffix(2).reversed()))
        #expect(try await service.copies().allSatisfy(\.isVerified))
        for name in names.suffix(2) { _ = try await service.verify(copyNamed: name) }
        await #expect(throws: PorticoError.self) { _ = try await service.verify(copyNamed: names[0]) }
        let first = try await BackupReader(target).copy(named: names[2]).after
        try await Self.wait {
            try await target.list(.log).allSatisfy { ($0.name.parts.last.flatMap { Int64($0) } ?? 0) > first }
        }
        running.cancel()
        await running.value
        await service.finish()
        await temporary.store.close()
    }

    @Test(arguments: 1...4)
    func `whatever the target does wrong, in the end all of it can be restored`(_ seed: Int) async throws {
        let temporary = try await TemporaryStore()
        let attachments = try temporary.attachments()
        let folder = FolderTarget(try temporary.folder("target"))
        let target = FaultyTarget(folder, seed: UInt64(seed), oneIn: 4)
        let service = Self.service(temporary, attachments, target)
        let running = Task { await service.run() }
        var expected: [String: String] = [:]
        for index in 0..<60 {
            let (id, text) = ("r\(index % 25)", "\(index)")
            try await temporary.put(id, text)
            expected[id] = text
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(target.faults > 5)
        target.heal()
        let written = TestClock().now().secondsSince1970
        try await Self.wait { service.figures.state.map { $0 > written } ?? false }
        #expect(try await Self.restored(from: folder, into: temporary.url.appending(path: "elsewhere")) == expected)
        running.cancel()
        await running.value
        await service.finish()
        await temporary.store.close()
    }

    @Test func `a copy whose objects were changed is found out`() async throws {
        let temporary = try await TemporaryStore()
        let attachments = try temporary.attachments()
        let place = try temporary.folder("target")
        let service = Self.service(temporary, attachments, FolderTarget(place))
        let bytes = Array("attached".utf8)
        let digest = try #require(AttachmentDigest(Hexadecimal.text(SHA256.hash(data: bytes))))
        _ = try await attachments.append(bytes, at: 0, of: Int64(bytes.count), to: digest, from: "ann")
        let running = Task { await service.run() }
        let name = try await service.makeCopyNow().name
        running.cancel()
        await running.value
        await service.finish()
        _ = try await service.verify(copyNamed: nil)
        for object in ["store", "attachments", "files/0", "manifest.json"] {
            let path = "\(place)/copies/\(name)/\(object)"
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            var changed = whole
            changed[changed.count / 2] ^= 0x20
            for other in [changed, whole.dropLast(whole.count / 2), Data()] {
                try other.write(to: URL(fileURLWithPath: path))
                await #expect(throws: PorticoError.self, "\(object)") { _ = try await service.verify(copyNamed: name) }
            }
            try whole.write(to: URL(fileURLWithPath: path))
        }
        try FileManager.default.removeItem(atPath: "\(place)/attachments/\(digest.text.prefix(2))/\(digest.text)")
        await #expect(throws: PorticoError.self) { _ = try await service.verify(copyNamed: nil) }
        await temporary.store.close()
    }
}
