import AdapterKit
import AdapterProtocol
import AdapterTesting
import Foundation
import RecordStorage
import SQLiteStore
import Testing

@testable import WorkerHost

/// The host's store as a worker sees it, with snapshots by number.
@Suite struct `Snapshots of the store` {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "portico-worker-\(UUID())")

    private func withSample(
        _ module: any AdapterModule.Type, _ body: (any Adapter, AdapterRecords) async throws -> Void
    ) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let declaration = try SampleModule.declare(AdapterConfiguration())
        let store = try SQLiteStore(
            SQLiteStoreSettings(path: folder.appending(path: "store").path, clock: SettableClock()))
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) })
        let records = AdapterRecords(store: store, declaration: declaration)
        let adapter = try module.make(AdapterConfiguration())
        for samples in try adapter.sampleRecords() {
            _ = try await records.apply(samples.records.map { RecordChange(samples.entity, .create(nil, $0)) })
        }
        try await adapter.start(
            AdapterContext(records: records, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock()))
        try await body(adapter, records)
        await adapter.stop()
        await store.close()
    }

    private func value(
        _ adapter: any Adapter, _ action: SampleModule.Action, _ records: any RecordStore, _ text: String = ""
    ) async throws -> WireValue {
        let call = Call(
            operation: OperationName(unchecked: action.rawValue), input: ["text": .string(text)], caller: .testUser,
            requestID: "r", deadline: .now + .seconds(30), records: records, log: .discarding)
        guard case .value(let value) = try await adapter.handle(call).content else { return .null }
        return value
    }

    @Test(arguments: [0, 1])
    func `are read at once, row by row and as a stream`(mode: Int) async throws {
        try await withSample(`An adapter in the process and as a worker`.modes[mode]) { adapter, records in
            #expect(try await value(adapter, .snapshot, records) == ["count": 1_000, "record": "n7"])
            #expect(try await value(adapter, .rows, records) == .array((1...1_000).map { .int64($0) }))
            let streamed = try await value(adapter, .streamed, records).dataValue ?? []
            #expect(String(decoding: streamed, as: UTF8.self) == (1...1_000).map { "n\($0);" }.joined())
        }
    }

    @Test(arguments: [0, 1])
    func `of many calls at once all end`(mode: Int) async throws {
        try await withSample(`An adapter in the process and as a worker`.modes[mode]) { adapter, records in
            try await withThrowingTaskGroup(of: WireValue.self) { group in
                for _ in 0..<30 { group.addTask { try await value(adapter, .snapshot, records) } }
                for try await answer in group { #expect(answer["count"] == 1_000) }
            }
        }
    }

    @Test func `of one worker are given up for another's, whatever they do, and leave places of the store`() async throws {
        try await withSample(`An adapter in the process and as a worker`.modes[0]) { _, records in
            let places = SnapshotPlaces(store: 8)
            let hog = SnapshotHandles(places.share(of: "hog"), time: .seconds(60))
            let other = SnapshotHandles(places.share(of: "other"), time: .seconds(60))
            let third = SnapshotHandles(places.share(of: "third"), time: .seconds(60))
            let read = try MessageMap(["read": "count", "entity": "items"])
            let numbers = try await Self.opened(3, by: hog, records)
            let start = ContinuousClock.now
            // One that reads all the time loses it as one that waits.
            let busy = Task { while true { _ = try await hog.read(numbers[0], read) } }
            _ = try await Self.opened(1, by: other, records)
            #expect(.now - start < .seconds(1))
            let waiting = Task { try await Self.opened(1, by: third, records) }
            let error = await #expect(throws: PorticoError.self) { try await busy.value }
            #expect(error?.code == .overloaded || error?.code == .deadlineExceeded)
            let number = try await waiting.value[0]
            #expect(.now - start > .milliseconds(500))
            // The store's own places are not all taken meanwhile.
            let pieces = try await records.streamSnapshot(within: .seconds(60)) { try $1.send([UInt8("\($0.position)".count)]) }
            #expect(try await pieces.next() != nil)
            #expect(try await third.read(number, read) != .null)
            #expect(try await hog.read(numbers[1], read) != .null)
            for handles in [hog, other, third] { handles.closeAll() }
        }
    }

    @Test func `of a worker that has ended are not waited for`() async throws {
        try await withSample(`An adapter in the process and as a worker`.modes[0]) { _, records in
            let places = SnapshotPlaces(store: 2)
            let ended = SnapshotHandles(places.share(of: "ended"), time: .seconds(60))
            let other = SnapshotHandles(places.share(of: "other"), time: .seconds(60))
            _ = try await Self.opened(1, by: ended, records)
            let waiting = Task { try await Self.opened(1, by: ended, records) }
            while !places.isWaitedFor { await Task.yield() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            ended.closeAll()
            _ = try await Self.opened(1, by: other, records)
            other.closeAll()
        }
    }

    private static func opened(
        _ count: Int, by handles: SnapshotHandles, _ records: any RecordStore
    ) async throws -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<count { numbers.append(try await handles.open(records, within: .seconds(60)).number) }
        return numbers
    }

    @Test(arguments: [0, 1])
    func `see what a call has written`(mode: Int) async throws {
        try await withSample(`An adapter in the process and as a worker`.modes[mode]) { adapter, records in
            let written = try await value(adapter, .write, records, "new")
            #expect(written["count"] == 7)
            let seen = try await value(adapter, .snapshot, records)
            #expect(seen["count"] == 1_001)
        }
    }
}
