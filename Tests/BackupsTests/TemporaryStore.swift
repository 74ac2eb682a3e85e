import AdapterKit
import AttachmentFiles
import Foundation
import RecordStorage
import SQLiteStore

/// A store in a directory of its own, which goes with it.
final class TemporaryStore: Sendable {
    let url: URL
    let store: SQLiteStore
    let records: AdapterRecords

    static let declaration = AdapterDeclaration(
        name: "tests", title: "Tests", summary: "", version: "1",
        entities: [
            Entity(
                "things", summary: "Things.", key: EntityKey("id"),
                fields: [
                    Field("id", .string(maximumLength: 64), isRequired: true),
                    Field("text", .string(maximumLength: 64 << 20)),
                ])
        ])

    init() async throws {
        url = FileManager.default.temporaryDirectory.appending(path: "backups-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        store = try SQLiteStore(
            SQLiteStoreSettings(path: url.appending(path: "store.sqlite").path, clock: TestClock()))
        records = try await Self.install(in: store)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    static func install(in store: SQLiteStore) async throws -> AdapterRecords {
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) })
        return AdapterRecords(store: store, declaration: declaration)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        return path(name)
    }

    /// Creates a record, or changes it.
    func put(_ id: String, _ text: String) async throws {
        if try await records.record(RecordID(unchecked: id), in: "things") == nil {
            try await records.create(["id": .string(id), "text": .string(text)], in: "things")
        } else {
            _ = try await records.update(RecordID(unchecked: id), ["text": .string(text)], in: "things")
        }
    }

    func attachments() throws -> AttachmentFiles {
        try AttachmentFiles(
            in: url.appending(path: "attachments"), limits: AttachmentLimits(), clock: TestClock())
    }
}

struct TestClock: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: Date().timeIntervalSince1970) }
}
