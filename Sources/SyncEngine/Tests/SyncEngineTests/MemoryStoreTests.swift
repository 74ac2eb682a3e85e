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
