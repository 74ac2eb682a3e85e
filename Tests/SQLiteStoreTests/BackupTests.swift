import AdapterKit
import DurableFiles
import Foundation
import GRDB
import RecordStorage
import SQLiteStore
import Synchronization
import Testing

@Suite struct BackupTests {
    private let directory: TemporaryDirectory
    private let declaration = Things.declaration([Field("text", .string)], search: ["text"])

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `what was acknowledged before a backup is in it, while others write`() async throws {
        let rounds = RepeatedPart(rounds: 50, fewest: 5)
        for round in rounds {
            let store = try directory.store()
            let records = try await Things.install(declaration, in: store)
            let ledger = Acknowledged()
            let backup = directory.url.appending(path: "backup-\(round)")
            let delay = Int.random(in: 0...20)
            let (before, summary) = try await withThrowingTaskGroup { group in
                for writer in 0..<4 {
                    group.addTask { try await write(as: "\(round)-\(writer)", to: records, ledger) }
                }
                try await Task.sleep(for: .milliseconds(delay))
                let before = ledger.ids.withLock { $0 }
                let summary = try await store.backUp(to: backup.path)
                group.cancelAll()
                try await group.waitForAll()
                return (before, summary)
            }
            let epoch = store.epoch
            await store.close()
            let restored = try restore(from: backup, as: "restored-\(round)")
            let found = try await Things.install(declaration, in: restored)
            for id in before { #expect(try await found.record(id, in: "things") != nil) }
            #expect(restored.epoch != epoch && restored.position == summary.position)
            #expect(try await found.count(nil, in: "things") >= before.count)
            try await found.create(["text": "goes on"], in: "things")
            await restored.close()
        }
        print("\(rounds.done) backups under load")
    }

    @Test func `a restored store takes the place of the one there, which is kept`() async throws {
        let store = try directory.store()
        let records = try await Things.install(declaration, in: store)
        try await records.create(["id": "old"], in: "things")
        let backup = directory.url.appending(path: "backup")
        _ = try await store.backUp(to: backup.path)
        try await records.create(["id": "new"], in: "things")
        // While the store is open: it goes on until it is opened next.
        let restore = StoreRestore(path: directory.path)
        _ = try restore.prepare(from: BackupFolder(backup.path))
        #expect(try await records.count(nil, in: "things") == 2)
        await store.close()
        let again = try directory.store()
        let found = try await Things.install(declaration, in: again)
        #expect(try await found.record("old", in: "things") != nil)
        #expect(try await found.record("new", in: "things") == nil)
        #expect(again.epoch != store.epoch)
        #expect(FileManager.default.fileExists(atPath: restore.replaced))
        await again.close()
    }

    @Test func `a restore that was broken off half-way is finished`() async throws {
        let store = try directory.store()
        try await Things.install(declaration, in: store).create(["id": "old"], in: "things")
        let backup = directory.url.appending(path: "backup")
        _ = try await store.backUp(to: backup.path)
        await store.close()
        let restore = StoreRestore(path: directory.path)
        _ = try restore.prepare(from: BackupFolder(backup.path))
        // As if the power had gone after the old file was moved away.
        try FileManager.default.moveItem(atPath: directory.path, toPath: restore.replaced)
        let again = try directory.store()
        #expect(try await Things.install(declaration, in: again).record("old", in: "things") != nil)
        await again.close()
    }

    @Test func `a damaged backup is refused, and the store stays as it is`() async throws {
        let store = try directory.store()
        let records = try await Things.install(declaration, in: store)
        for number in 0..<200 {
            try await records.create(["text": .string(String(repeating: "\(number) ", count: 200))], in: "things")
        }
        let backup = directory.url.appending(path: "backup")
        _ = try await store.backUp(to: backup.path)
        let file = try FileHandle(forUpdating: backup.appending(path: "portico.sqlite"))
        try file.seek(toOffset: try file.seekToEnd() / 2 / 4096 * 4096)
        try file.write(contentsOf: Data(count: 8192))
        try file.close()
        #expect(throws: PorticoError.self) {
            try StoreRestore(path: directory.path).prepare(from: BackupFolder(backup.path))
        }
        await store.close()
        let again = try directory.store()
        #expect(again.epoch == store.epoch)
        await again.close()
    }

    @Test func `a backup overwrites nothing`() async throws {
        let store = try directory.store()
        let error = await #expect(throws: PorticoError.self) { try await store.backUp(to: directory.url.path) }
        #expect(error?.code == .recordExists)
        await store.close()
    }

    private func restore(from backup: URL, as name: String) throws -> SQLiteStore {
        let path = directory.url.appending(path: "\(name).sqlite").path
        _ = try StoreRestore(path: path).prepare(from: BackupFolder(backup.path))
        return try SQLiteStore(SQLiteStoreSettings(path: path, clock: FixedClock()))
    }

    private func write(as writer: String, to records: AdapterRecords, _ ledger: Acknowledged)
        async throws
    {
        var number = 0
        while !Task.isCancelled {
            let record = try await records.create(["id": .string("\(writer)-\(number)")], in: "things")
            ledger.ids.withLock { $0.append(record.id) }
            number += 1
        }
    }
}

private final class Acknowledged: Sendable {
    let ids = Mutex<[RecordID]>([])
}
