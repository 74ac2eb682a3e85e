import AdapterKit
import Foundation
import GRDB
import Glibc
import RecordStorage
import SQLiteStore
import Testing

@Suite struct OpeningTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `what was written is there after the store was closed and opened`() async throws {
        let declaration = Things.declaration([Field("name", .string)], search: ["name"])
        let first = try directory.store()
        let record = try await Things.install(declaration, in: first).create(["id": "x", "name": "Ann"], in: "things")
        await first.close()
        #expect(!FileManager.default.fileExists(atPath: directory.path + "-wal"))
        let second = try directory.store()
        let records = try await Things.install(declaration, in: second)
        #expect(second.epoch == first.epoch)
        #expect(second.position == record.revision && second.position(of: "tests") == record.revision)
        #expect(try await records.query(Query(.search(words: ["ann"])), in: "things").records == [record])
        #expect(try await records.create(["id": "y"], in: "things").revision > record.revision)
    }

    @Test func `a second process cannot open the file`() async throws {
        let store = try directory.store()
        #expect(throws: PorticoError.self) { try directory.store() }
        await store.close()
    }

    /// As a process has it that is being started, until it is replaced by its program.
    @Test func `a closed store can be opened though a copy of the lock's descriptor is left`() async throws {
        let store = try directory.store()
        let lock = directory.url.resolvingSymlinksInPath().appending(path: "store.sqlite.lock").path
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let held = try #require(
            open.first { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == lock })
        let copy = dup(held)
        defer { _ = Glibc.close(copy) }
        await store.close()
        await (try directory.store()).close()
    }

    @Test func `the writer waits for the disk at every commit`() throws {
        let writer = try StoreFile(path: directory.path, maximumPages: nil).openWriter()
        let settings = try writer.read { database in
            try ["synchronous", "journal_mode", "foreign_keys", "trusted_schema", "busy_timeout"].map {
                try String.fetchOne(database, sql: "PRAGMA \($0)")
            }
        }
        #expect(settings == ["2", "wal", "1", "0", "5000"])
    }

    @Test func `no other user can read the file`() throws {
        _ = try directory.store()
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a damaged file is refused where it was left open`() async throws {
        let store = try directory.store()
        let records = try await Things.install(
            Things.declaration([Field("name", .string)], indexes: [Index(["name"])]), in: store)
        _ = try await records.apply(
            (0..<2000).map { RecordChange("things", .create(nil, ["name": .string("name \($0)")])) })
        await store.close()
        try damage()
        try Data([1]).write(to: URL(filePath: directory.path + "-wal"))
        let error = #expect(throws: PorticoError.self) { try directory.store() }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.message.contains("damaged") == true)
    }

    @Test func `a file of another program is refused`() throws {
        let other = try DatabaseQueue(path: directory.path)
        try other.write { try $0.execute(sql: "CREATE TABLE t (a)") }
        try other.close()
        let error = #expect(throws: PorticoError.self) { try directory.store() }
        #expect(error?.message == "The file is no store of this program.")
    }

    /// Zeroes in the middle of the file.
    private func damage() throws {
        let file = try FileHandle(forUpdating: URL(filePath: directory.path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size / 2 / 4096 * 4096)
        try file.write(contentsOf: Data(count: 8192))
        try file.close()
    }
}
