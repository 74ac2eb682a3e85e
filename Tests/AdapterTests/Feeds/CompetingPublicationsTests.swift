import AdapterKit
import AdapterTesting
import PlistFeeds
import Testing

@Suite struct `Two who publish at once` {
    private let memory: MemoryRecords
    private let clock = SettableClock()

    init() throws {
        memory = try MemoryRecords(PlistFeedsModule.declare(AdapterConfiguration()), clock: clock)
    }

    private func adapter(on records: any RecordStore) async throws -> any Adapter {
        let adapter = try PlistFeedsModule.make(AdapterConfiguration())
        try await adapter.start(
            AdapterContext(records: records, accounts: MemoryAccounts([]), log: .discarding, clock: clock))
        return adapter
    }

    private func publish(_ text: String, by adapter: any Adapter) async throws -> WireValue? {
        let call = Call(
            operation: "publish", input: ["name": "news", "content": ["text": .string(text)]], caller: .testUser,
            requestID: "test", deadline: .now + .seconds(30), records: memory.seen(by: .testUser), log: .discarding)
        guard case .value(let value) = try await adapter.handle(call).content else { return nil }
        return value["version"]
    }

    private func texts() async throws -> [WireValue] {
        let query = Query(order: [SortKey("version")])
        return try await memory.unrestricted.query(query, in: "versions").records.compactMap { $0["content"]["text"] }
    }

    @Test(arguments: [false, true])
    func `the slower one comes after the faster one`(feedIsThere: Bool) async throws {
        let other = try await adapter(on: memory.unrestricted)
        if feedIsThere { _ = try await publish("old", by: other) }
        let records = FaultInjectingRecordStore(memory.unrestricted) { write in
            if write == 1 { _ = try await publish("faster", by: other) }
        }
        let version = try await publish("slower", by: adapter(on: records))
        #expect(version == (feedIsThere ? 3 : 2))
        #expect(try await texts() == (feedIsThere ? ["old", "faster", "slower"] : ["faster", "slower"]))
        #expect(try await memory.unrestricted.record("news", in: "feeds")?["content"]["text"] == "slower")
    }

    @Test func `a publication that never gets a turn is answered with a retry, and nothing of it is there`()
        async throws
    {
        let other = try await adapter(on: memory.unrestricted)
        let records = FaultInjectingRecordStore(memory.unrestricted) { write in
            _ = try await publish("faster \(write)", by: other)
        }
        let slow = try await adapter(on: records)
        let error = try await refusal { try await publish("slower", by: slow) }
        #expect(error?.code == .recordConflict)
        #expect(try await texts() == (1...5).map { .string("faster \($0)") })
    }

    @Test func `an outage is reported as it is`() async throws {
        let records = FaultInjectingRecordStore(memory.unrestricted) { _ in
            throw PorticoError(.storeUnavailable, "The store is away.")
        }
        let adapter = try await adapter(on: records)
        #expect(try await refusal { try await publish("news", by: adapter) }?.code == .storeUnavailable)
        #expect(memory.position == Revision(0))
    }
}
