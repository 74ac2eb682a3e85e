import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore
import Testing

/// What is found when a store is opened again.
@Suite struct StoreFilesStateTests {
    private let directory: TemporaryDirectory
    private let declaration = Things.declaration([Field("text", .string)])

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func settings(accepting: Bool = false, companions: String? = nil) -> SQLiteStoreSettings {
        var settings = SQLiteStoreSettings(path: directory.path, clock: FixedClock())
        settings.acceptsFiles = accepting
        settings.companions = companions
        return settings
    }

    private func fill(_ record: RecordID = "kept", closing: Bool = true) async throws -> Epoch {
        let store = try SQLiteStore(settings())
        try await Things.install(declaration, in: store).create(["id": .string(record.text)], in: "things")
        if closing {
            await store.close()
            return store.epoch
        }
        // As a process that is killed leaves its files.
        let files = ["", "-wal", ".marker"].map { directory.path + $0 }
        for file in files { try FileManager.default.copyItem(atPath: file, toPath: file + ".killed") }
        await store.close()
        for file in files {
            try? FileManager.default.removeItem(atPath: file)
            try FileManager.default.moveItem(atPath: file + ".killed", toPath: file)
        }
        return store.epoch
    }

    private func refused(companions: String? = nil) -> Bool {
        let error = #expect(throws: PorticoError.self) { try SQLiteStore(settings(companions: companions)) }
        return error?.message.contains("--accept-store") ?? false
    }

    private func acceptedEpoch() async throws -> Epoch {
        let accepted = try SQLiteStore(settings(accepting: true))
        await accepted.close()
        // Confirmed once: the next start is as any other.
        let again = try SQLiteStore(settings())
        await again.close()
        #expect(again.epoch == accepted.epoch)
        return accepted.epoch
    }

    @Test(arguments: [true, false], [true, false])
    func `a missing or empty file where a store was is refused until it is accepted`(
        isRemoved: Bool, wasClosed: Bool
    ) async throws {
        let epoch = try await fill(closing: wasClosed)
        try FileManager.default.removeItem(atPath: directory.path)
        if !isRemoved { try Data().write(to: URL(filePath: directory.path)) }
        #expect(refused())
        #expect(isRemoved != FileManager.default.fileExists(atPath: directory.path))
        #expect(try await acceptedEpoch() != epoch)
    }

    @Test func `a log file without its store is refused, and kept when a new store is accepted`() async throws {
        _ = try await fill(closing: false)
        for ending in ["", ".marker"] { try FileManager.default.removeItem(atPath: directory.path + ending) }
        #expect(refused())
        _ = try await acceptedEpoch()
        #expect(FileManager.default.fileExists(atPath: directory.path + ".replaced-wal"))
    }

    @Test func `an empty store beside attachments is refused`() async throws {
        #expect(refused(companions: "attachments"))
        #expect(!FileManager.default.fileExists(atPath: directory.path))
        let store = try SQLiteStore(settings(accepting: true, companions: "attachments"))
        await store.close()
    }

    @Test func `a store without the log file that it was left with is refused, and gets a new epoch`() async throws {
        let epoch = try await fill(closing: false)
        try FileManager.default.removeItem(atPath: directory.path + "-wal")
        #expect(refused())
        #expect(try await acceptedEpoch() != epoch)
    }

    @Test func `another store than was there is refused, and gets a new epoch`() async throws {
        _ = try await fill()
        let other = try TemporaryDirectory()
        let foreign = try other.store()
        await foreign.close()
        try FileManager.default.removeItem(atPath: directory.path)
        try FileManager.default.copyItem(atPath: other.path, toPath: directory.path)
        #expect(refused())
        #expect(try await acceptedEpoch() != foreign.epoch)
    }

    @Test func `a first start, a clean stop, a kill and a store of an earlier version need no confirmation`()
        async throws
    {
        let epoch = try await fill()
        let second = try SQLiteStore(settings())
        #expect(second.epoch == epoch)
        await second.close()
        _ = try await fill("more", closing: false)
        let killed = try SQLiteStore(settings())
        #expect(killed.epoch == epoch)
        await killed.close()
        try FileManager.default.removeItem(atPath: directory.path + ".marker")
        let unmarked = try SQLiteStore(settings())
        #expect(unmarked.epoch == epoch)
        await unmarked.close()
        #expect(FileManager.default.fileExists(atPath: directory.path + ".marker"))
    }
}
