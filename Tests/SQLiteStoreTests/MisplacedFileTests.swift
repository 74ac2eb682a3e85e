import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore
import Testing

/// Files of a store that are moved, deleted or replaced while it is open.
@Suite struct MisplacedFileTests {
    private let directory: TemporaryDirectory
    private let declaration = Things.declaration([Field("text", .string)])

    init() throws {
        directory = try TemporaryDirectory()
    }

    enum Deed: CaseIterable {
        case delete, rename, replaceByEmpty, replaceByCopy, replaceByLink

        func perform(on path: String) throws {
            let files = FileManager.default
            let aside = path + ".aside"
            switch self {
            case .delete: try files.removeItem(atPath: path)
            case .rename: try files.moveItem(atPath: path, toPath: aside)
            case .replaceByEmpty:
                try files.moveItem(atPath: path, toPath: aside)
                try Data().write(to: URL(filePath: path))
            case .replaceByCopy:
                try files.moveItem(atPath: path, toPath: aside)
                try files.copyItem(atPath: aside, toPath: path)
            case .replaceByLink:
                try files.moveItem(atPath: path, toPath: aside)
                try files.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
            }
        }
    }

    @Test(arguments: Deed.allCases, ["", "-wal", ".lock"])
    func `nothing is acknowledged or read once a file is not in its place`(deed: Deed, ending: String) async throws {
        let store = try directory.store()
        let records = try await Things.install(declaration, in: store)
        try await records.create(["id": "before"], in: "things")
        #expect(await store.probe() == nil)
        try deed.perform(on: directory.path + ending)
        for _ in 0..<2 {
            let error = await #expect(throws: PorticoError.self) {
                try await records.create(["text": "lost"], in: "things")
            }
            #expect(error?.code == .storeUnavailable && error?.retryAfter != nil)
        }
        let read = await #expect(throws: PorticoError.self) { try await records.count(nil, in: "things") }
        #expect(read?.code == .storeUnavailable)
        #expect(store.problem == .misplaced)
        #expect(await store.probe() == .misplaced)
        await store.close()
    }

    @Test func `a probe finds out without a write`() async throws {
        let store = try directory.store()
        _ = try await Things.install(declaration, in: store)
        try Deed.rename.perform(on: directory.path)
        #expect(store.problem == nil)
        #expect(await store.probe() == .misplaced)
        await store.close()
    }

    @Test func `a backup and a stream open no other file that stands there by then`() async throws {
        let store = try directory.store()
        _ = try await Things.install(declaration, in: store)
        try Deed.replaceByCopy.perform(on: directory.path)
        let target = directory.url.appending(path: "backup").path
        await #expect(throws: PorticoError.self) { try await store.backUp(to: target) }
        #expect(!FileManager.default.fileExists(atPath: target))
        await store.close()
    }

    @Test func `a file that is put back is used again, with all that was acknowledged`() async throws {
        let store = try directory.store()
        let records = try await Things.install(declaration, in: store)
        try await records.create(["id": "before"], in: "things")
        try Deed.rename.perform(on: directory.path)
        await #expect(throws: PorticoError.self) { try await records.create(["id": "during"], in: "things") }
        try FileManager.default.moveItem(atPath: directory.path + ".aside", toPath: directory.path)
        #expect(await store.probe() == nil)
        try await records.create(["id": "after"], in: "things")
        #expect(try await records.record("before", in: "things") != nil)
        await store.close()
        let again = try directory.store()
        #expect(try await Things.install(declaration, in: again).record("after", in: "things") != nil)
        await again.close()
    }

    @Test func `what was committed while the file went is not acknowledged`() async throws {
        let store = try directory.store()
        let records = try await Things.install(declaration, in: store)
        let path = directory.path
        // Deleted within the transaction: its commit succeeds, into a file that no caller will find.
        let error = await #expect(throws: PorticoError.self) {
            try await store.transact(weight: 1) { _ in try FileManager.default.removeItem(atPath: path) }
        }
        #expect(error?.code == .storeUnavailable)
        _ = records
        await store.close()
    }
}
