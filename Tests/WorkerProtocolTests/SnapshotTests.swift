import AdapterKit
import AdapterTesting
import Foundation
import RecordStorage
import SQLiteStore
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

/// Snapshots that a worker opens in the course of a call, with the messages that it sends.
@Suite(.timeLimit(.minutes(5))) struct `Snapshots of a call` {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "portico-snapshots-\(UUID())")

    private struct Parties {
        let session: WorkerConnection
        let peer: RawPeer
        let permits: SnapshotPermits
        let records: AdapterRecords

        /// The host makes a call. Returns it, and its number.
        func call() async throws -> (call: Task<OperationResult, any Error>, number: WireValue) {
            let (session, records) = (session, records)
            let call = Task {
                try await session.handle(
                    Call(
                        operation: "echo", input: [:], caller: .testUser, requestID: "r",
                        deadline: .now + .seconds(600),
                        records: records, log: .discarding))
            }
            return (call, try #require(try await peer.received { $0["method"] == "call" }["request"]))
        }

        func open(_ number: Int64, for call: WireValue? = nil) throws {
            try ask(number, "openSnapshot", ["within": 60_000_000_000], for: call)
        }

        func ask(_ number: Int64, _ method: WireValue, _ parameters: WireValue, for call: WireValue?) throws {
            var request: WireDictionary = ["request": .int64(number), "method": method, "params": parameters]
            request["for"] = call
            try peer.send(.dictionary(request))
        }

        func answer(_ number: Int64) async throws -> WireValue {
            try await peer.received { $0["response"] == .int64(number) }
        }

        func awaitOpen(_ count: Int) async throws {
            while permits.open != count { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    /// `store`: how many streamed reads the store makes, of which workers have half.
    private func withParties(store streams: Int, _ body: (Parties) async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let declaration = try SampleModule.declare(AdapterConfiguration())
        let store = try SQLiteStore(
            SQLiteStoreSettings(path: folder.appending(path: "store").path, clock: SettableClock()))
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) })
        let records = AdapterRecords(store: store, declaration: declaration)
        let permits = SnapshotPermits(store: streams)
        var limits = SessionLimits.unhurried
        limits.snapshots = permits.share(of: declaration.name)
        let (session, peer) = try await RawPeer.session(limits: limits)
        async let start: Void = session.start(
            AdapterContext(records: records, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock()))
        _ = try await peer.received { $0["method"] == "start" }
        try peer.send(["response": 2, "result": .null])
        try await start
        try await body(Parties(session: session, peer: peer, permits: permits, records: records))
        session.close()
        await store.close()
    }

    @Test(arguments: [false, true])
    func `are closed when it is answered or abandoned, and closing them again is accepted`(isAbandoned: Bool)
        async throws
    {
        try await withParties(store: 8) { parties in
            let (call, number) = try await parties.call()
            for request in 1...3 as ClosedRange<Int64> {
                try parties.open(request, for: number)
                let opened = try await parties.answer(request)
                #expect(opened["result"]?["snapshot"] == .int64(request))
            }
            #expect(parties.permits.open == 3)
            if isAbandoned {
                call.cancel()
                _ = try await parties.peer.received { $0["cancel"] == number }
            } else {
                try parties.peer.send(["response": number, "result": ["content": "nothing"]])
            }
            _ = await call.result
            try await parties.awaitOpen(0)
            for (request, scope) in [(4, number), (5, number), (6, nil)] as [(Int64, WireValue?)] {
                try parties.ask(request, "closeSnapshot", ["snapshot": 1], for: scope)
                let closed = try await parties.answer(request)
                #expect(closed["error"] == nil)
            }
        }
    }

    @Test func `that wait are withdrawn when it is over`() async throws {
        try await withParties(store: 2) { parties in
            try parties.open(1)
            _ = try await parties.answer(1)
            let (call, number) = try await parties.call()
            try parties.open(2, for: number)
            // It waits then, most often; otherwise it is refused, as what is asked for a call that is over.
            try await Task.sleep(for: .milliseconds(200))
            call.cancel()
            _ = try await parties.peer.received { $0["cancel"] == number }
            let withdrawn = try await parties.answer(2)
            #expect(withdrawn["error"] != nil)
            try parties.ask(3, "closeSnapshot", ["snapshot": 1], for: nil)
            _ = try await parties.answer(3)
            try await parties.awaitOpen(0)
        }
    }

    @Test func `that wait are withdrawn by the worker, and leave no permit taken`() async throws {
        try await withParties(store: 2) { parties in
            try parties.open(1)
            _ = try await parties.answer(1)
            let (call, number) = try await parties.call()
            try parties.open(2, for: number)
            try parties.peer.send(["cancel": 2])
            let withdrawn = try await parties.answer(2)
            #expect(withdrawn["error"] == "cancelled")
            // One that opens while it is withdrawn is closed as well.
            try parties.ask(3, "closeSnapshot", ["snapshot": 1], for: nil)
            _ = try await parties.answer(3)
            try parties.open(4, for: number)
            try parties.peer.send(["cancel": 4])
            _ = try await parties.answer(4)
            try await parties.awaitOpen(0)
            call.cancel()
        }
    }
}
