import AdapterKit
import SQLiteStore
import StoreConformance
import Testing

@Suite struct StoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `the SQLite store keeps the promises of a store`(_ promise: ConformanceCase) async throws {
        let directory = try TemporaryDirectory()
        try await promise.run { try directory.store() }
    }

    @Test(arguments: StoreConformance.replacementCases)
    func `the SQLite store keeps the promises of a store of mirrors`(_ promise: ConformanceCase) async throws {
        let directory = try TemporaryDirectory()
        try await promise.run { try directory.store() }
    }

    @Test func `ten thousand instants of all years are exact`() async throws {
        let directory = try TemporaryDirectory()
        try await StoreConformance.instants(count: 10_000).run { try directory.store() }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random queries agree with the reference`(seed: UInt64) async throws {
        let directory = try TemporaryDirectory()
        try await StoreConformance.randomQueries(rounds: 25, seed: seed).run { try directory.store() }
    }
}
