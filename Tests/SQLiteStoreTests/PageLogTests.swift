import AdapterKit
import Foundation
import RecordStorage
import Testing

@testable import SQLiteStore

@Suite struct PageLogTests {
    private static let stream = String(repeating: "ab", count: 16)

    @Test func `a copy with the pieces since is the store, whatever was written, and whenever it was collected`()
        async throws
    {
        for seed in 1...12 {
            var random = SeededNumbers(seed: UInt64(seed))
            let temporary = try await PageLogStore()
            let (store, copy) = (temporary.store, temporary.path("copy.sqlite"))
            let log = try await store.openPageLog(
                stream: Self.stream, in: try temporary.folder("log"), limit: 1 << 30)
            var begun: PageLog.Position?
            for step in 0..<60 {
                let length = Int.random(in: 0..<12, using: &random) == 0 ? 200_000 : 300
                try await temporary.put(
                    "r\(Int.random(in: 0..<40, using: &random))", String(repeating: "\(step) ", count: length / 3))
                if Int.random(in: 0..<4, using: &random) == 0 { _ = try await log.collect() }
                if step == 20 {
                    begun = try await log.collect()
                    // Written while it is copied, too.
                    async let others: Void = temporary.put("meanwhile", "\(step)")
                    _ = try await store.copyDatabase(to: copy)
                    try await others
                }
            }
            let last = try await log.collect()
            var replay = try PageLogReplay(into: copy, stream: Self.stream, after: try #require(begun))
            let first = try #require(begun).number + 1
            for number in first...last.number { try replay.add(log.path(of: number)) }
            #expect(replay.applied == last.number)
            try replay.finish()
            let expected = try await store.inspect(checksIntegrity: true).contents
            #expect(try await BackupSummary.ofCopy(at: copy) == expected, "seed \(seed)")
            await log.end()
            await store.close()
        }
    }

    @Test func `the write-ahead log begins anew while it is collected, and stays small`() async throws {
        let temporary = try await PageLogStore()
        let log = try await temporary.store.openPageLog(
            stream: Self.stream, in: try temporary.folder("log"), limit: 1 << 30)
        var largest: Int64 = 0
        for round in 0..<40 {
            for index in 0..<5 { try await temporary.put("r\(index)", String(repeating: "\(round)", count: 100_000)) }
            _ = try await log.collect()
            largest = max(largest, try await temporary.store.inspect(checksIntegrity: false).logFileBytes)
        }
        #expect(largest < 20 << 20)
        await log.end()
        await temporary.store.close()
    }

    @Test func `a commit that is larger than a piece is there as a whole or not at all`() async throws {
        let temporary = try await PageLogStore()
        let store = temporary.store
        let log = try await store.openPageLog(stream: Self.stream, in: try temporary.folder("log"), limit: 1 << 30)
        let (begun, copy) = (try await log.collect(), temporary.path("copy.sqlite"))
        let before = try await store.copyDatabase(to: copy)
        let text = String(repeating: "x", count: 500_000)
        _ = try await temporary.records.apply(
            (0..<80).map { RecordChange("things", .create(nil, ["id": .string("large\($0)"), "text": .string(text)])) })
        let last = try await log.collect()
        #expect(last.number > begun.number + 1)
        var replay = try PageLogReplay(into: copy, stream: Self.stream, after: begun)
        for number in (begun.number + 1)..<last.number { try replay.add(log.path(of: number)) }
        // What is whole of it is not applied without its end.
        #expect(replay.applied == begun.number)
        try replay.finish()
        #expect(try await BackupSummary.ofCopy(at: copy) == before)
        await log.end()
        await store.close()
    }

    @Test func `a piece that was changed, is missing or belongs to another log is refused`() async throws {
        let temporary = try await PageLogStore()
        let store = temporary.store
        let log = try await store.openPageLog(stream: Self.stream, in: try temporary.folder("log"), limit: 1 << 30)
        let (begun, copy) = (try await log.collect(), temporary.path("copy.sqlite"))
        _ = try await store.copyDatabase(to: copy)
        for index in 0..<3 {
            try await temporary.put("r\(index)", "text")
            _ = try await log.collect()
        }
        var replay = try PageLogReplay(into: copy, stream: Self.stream, after: begun)
        #expect(throws: PorticoError.self) { try replay.add(log.path(of: begun.number + 2)) }
        try replay.finish()
        var other = try PageLogReplay(into: copy, stream: String(repeating: "cd", count: 16), after: begun)
        #expect(throws: PorticoError.self) { try other.add(log.path(of: begun.number + 1)) }
        try other.finish()
        let bytes = Array(try #require(FileManager.default.contents(atPath: log.path(of: begun.number + 1))))
        for index in stride(from: 0, to: bytes.count, by: 97) {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: PorticoError.self) { try PageLogSegment(changed) }
            #expect(throws: PorticoError.self) { try PageLogSegment(Array(bytes.prefix(index))) }
        }
        await log.end()
        await store.close()
    }

    @Test func `a log whose pieces nobody takes ends, and the store goes on without it`() async throws {
        let temporary = try await PageLogStore()
        let log = try await temporary.store.openPageLog(
            stream: Self.stream, in: try temporary.folder("log"), limit: 100_000)
        await #expect(throws: PorticoError.self) {
            for index in 0..<20 {
                try await temporary.put("r\(index)", String(repeating: "x", count: 50_000))
                _ = try await log.collect()
            }
        }
        await #expect(throws: PorticoError.self) { _ = try await log.collect() }
        for index in 0..<40 { try await temporary.put("r\(index)", String(repeating: "y", count: 200_000)) }
        // SQLite makes its checkpoints again.
        #expect(try await temporary.store.inspect(checksIntegrity: true).logFileBytes < 8 << 20)
        await temporary.store.close()
    }

    @Test func `logs that follow each other each hold the write-ahead log back`() async throws {
        let temporary = try await PageLogStore()
        for round in 1...3 {
            let log = try await temporary.store.openPageLog(
                stream: Self.stream, in: try temporary.folder("log\(round)"), limit: 1 << 30)
            // More than SQLite's own checkpoints would let grow.
            for index in 0..<60 { try await temporary.put("r\(index)", String(repeating: "\(round)", count: 100_000)) }
            #expect(try await temporary.store.inspect(checksIntegrity: false).logFileBytes > 5 << 20)
            #expect(try await log.collect().number > 0)
            await log.end()
            for index in 0..<5 { try await temporary.put("r\(index)", "small") }
        }
        await temporary.store.close()
    }

    @Test func `a log that began anew before it was read is found out`() async throws {
        let temporary = try await PageLogStore()
        let store = temporary.store
        let log = try await store.openPageLog(stream: Self.stream, in: try temporary.folder("log"), limit: 1 << 30)
        try await temporary.put("before", "text")
        _ = try await log.collect()
        try await temporary.put("lost", "text")
        // What only the log itself may do.
        try await store.writer.run { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") }
        try await temporary.put("after", "text")
        await #expect(throws: PorticoError.self) { _ = try await log.collect() }
        await store.close()
    }
}

/// A store in a directory of its own, with things that are put into it.
private struct PageLogStore {
    let directory: TemporaryDirectory
    let store: SQLiteStore
    let records: AdapterRecords

    init() async throws {
        directory = try TemporaryDirectory()
        store = try directory.store()
        records = try await Things.install(Things.declaration([Field("text", .string)]), in: store)
    }

    func path(_ name: String) -> String { directory.url.appending(path: name).path }

    func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        return path(name)
    }

    /// Creates a record, or changes it.
    func put(_ id: String, _ text: String) async throws {
        let id = RecordID(unchecked: id)
        if try await records.record(id, in: "things") == nil {
            try await records.create(["id": .string(id.text), "text": .string(text)], in: "things")
        } else {
            _ = try await records.update(id, ["text": .string(text)], in: "things")
        }
    }
}

/// SplitMix64.
private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
