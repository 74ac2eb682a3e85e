import AdapterKit
import AdapterTesting
import RecordStorage
import Testing
import WorkerHost
import WorkerTesting

/// The host's store as a worker sees it, with snapshots by number.
@Suite struct `Snapshots of the store` {
    @Test(arguments: [0, 1])
    func `are read at once, row by row and as a stream`(mode: Int) async throws {
        try await withSample(as: Mode.allCases[mode]) { adapter, records in
            #expect(try await value(adapter, .snapshot, records) == ["count": 1_000, "record": "n7"])
            #expect(try await value(adapter, .rows, records) == .array((1...1_000).map { .int64($0) }))
            let streamed = try await value(adapter, .streamed, records).dataValue ?? []
            #expect(String(decoding: streamed, as: UTF8.self) == (1...1_000).map { "n\($0);" }.joined())
        }
    }

    @Test(arguments: [0, 1])
    func `of many calls at once all end`(mode: Int) async throws {
        try await withSample(as: Mode.allCases[mode]) { adapter, records in
            try await withThrowingTaskGroup(of: WireValue.self) { group in
                for _ in 0..<30 { group.addTask { try await value(adapter, .snapshot, records) } }
                for try await answer in group { #expect(answer["count"] == 1_000) }
            }
        }
    }

    @Test func `of one worker are given up for another's, and leave permits of the store`() async throws {
        try await withSample(as: .inProcess) { _, records in
            let permits = SnapshotPermits(store: 8)
            let hog = try await worker("hog", of: permits, records)
            let other = try await worker("other", of: permits, records)
            let third = try await worker("third", of: permits, records)
            let holding = ["busy", "idle", "idle"].map { text in
                Task { () -> ErrorCode? in
                    do { _ = try await value(hog.session, .hold, records, text) } catch {
                        return (error as? PorticoError)?.code
                    }
                    return nil
                }
            }
            while permits.open < 3 { await Task.yield() }
            // The store's own permits are not all taken meanwhile, nor is the last one of the workers'.
            for _ in 0..<4 {
                let pieces = try await records.streamSnapshot(within: .seconds(60)) { _, output in try output.send([1])
                }
                #expect(try await pieces.next() == [1])
            }
            let single = Task { try await value(other.session, .hold, records, "idle") }
            while permits.open < 4 { await Task.yield() }
            #expect(try await value(third.session, .snapshot, records)["count"] == 1_000)
            while permits.open != 3 { await Task.yield() }
            for worker in [hog, other, third] { worker.session.close() }
            var codes: [ErrorCode?] = []
            for task in holding { codes.append(await task.value) }
            #expect(codes.count { $0 == .overloaded } == 1)
            _ = await single.result
        }
    }

    private func worker(
        _ name: AdapterName, of permits: SnapshotPermits, _ records: any RecordStore
    ) async throws -> WorkerPair {
        var limits = SessionLimits.unhurried
        limits.snapshots = permits.share(of: name)
        let pair = try await WorkerPair(SampleModule.self, AdapterConfiguration(), limits: limits)
        try await pair.session.start(
            AdapterContext(records: records, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock()))
        return pair
    }

    @Test(arguments: [0, 1])
    func `see what a call has written`(mode: Int) async throws {
        try await withSample(as: Mode.allCases[mode]) { adapter, records in
            let written = try await value(adapter, .write, records, "new")
            #expect(written["count"] == 7)
            let seen = try await value(adapter, .snapshot, records)
            #expect(seen["count"] == 1_001)
        }
    }
}
