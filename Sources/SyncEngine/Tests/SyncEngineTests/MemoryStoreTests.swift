import AdapterKit
import MemoryStore
import RecordStorage
import StoreConformance
import Testing

@Suite struct MemoryStoreTests {
    @Test(arguments: StoreConformance.cases)
    func `the memory store keeps the promises of a store`(_ promise: ConformanceCase) async throws {
        try await promise.run { MemoryStore(clock: FixedClock()) }
    }

    @Test(arguments: StoreConformance.replacementCases)
    func `the memory store keeps the promises of a store of mirrors`(_ promise: ConformanceCase) async throws {
        try await promise.run { MemoryStore(clock: FixedClock()) }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random queries agree with the reference`(seed: UInt64) async throws {
        try await StoreConformance.randomQueries(rounds: 10, seed: seed).run { MemoryStore(clock: FixedClock()) }
    }

    @Test(arguments: StoreConformance.cases)
    func `a store keeps its promises while its position lags`(_ promise: ConformanceCase) async throws {
        for most in [1, 8] {
            try await promise.run { LaggingStore(MemoryStore(clock: FixedClock()), seed: 42, most: most) }
        }
    }

    @Test(arguments: StoreConformance.replacementCases)
    func `a store of mirrors keeps its promises while its position lags`(_ promise: ConformanceCase) async throws {
        try await promise.run { LaggingStore(MemoryStore(clock: FixedClock()), seed: 42) }
    }

    @Test(arguments: StoreConformance.cases)
    func `a store whose reads are counted keeps its promises`(_ promise: ConformanceCase) async throws {
        try await promise.run { CountingStore(MemoryStore(clock: FixedClock())) }
    }

    @Test(arguments: StoreConformance.sharedDatabaseCases)
    func `two stores over the same tables keep the promises of one database`(
        _ promise: SharedDatabaseCase
    ) async throws {
        try await promise.run {
            let one = MemoryStore(clock: FixedClock())
            return (one, MemoryStore(sharing: one))
        }
    }

    @Test(arguments: StoreConformance.sharedDatabaseCases, [0, 1, 2] as [UInt64])
    func `two stores over the same tables keep them while their positions lag`(
        _ promise: SharedDatabaseCase, seed: UInt64
    ) async throws {
        try await promise.run {
            let one = MemoryStore(clock: FixedClock())
            func lagging(_ store: MemoryStore, _ seed: UInt64) -> LaggingStore {
                LaggingStore(store, seed: seed, most: 5, catchingUpAfter: .milliseconds(5))
            }
            return (lagging(one, seed), lagging(MemoryStore(sharing: one), seed + 10))
        }
    }

    @Test func `a store made from an image goes on where the other one was`() async throws {
        let first = MemoryStore(clock: FixedClock())
        try await first.transact(weight: 1) { try $0.remember([:], of: 1, from: "c", of: "ann") }
        let image = try first.image
        await first.close()
        let second = MemoryStore(image, epoch: Epoch("restored"), clock: FixedClock())
        #expect(second.epoch == Epoch("restored"))
        #expect(try await second.withReadSnapshot { try $0.client("c")?.lastSequence } == 1)
    }
}

private struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
}
