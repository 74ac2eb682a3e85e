import AdapterKit
import PostgreSQLStore
import StoreConformance
import Testing

@Suite(.enabled(if: DatabaseServer.programs != nil, "PostgreSQL is not installed"))
struct StoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `the PostgreSQL store keeps the promises of a store`(_ promise: ConformanceCase) async throws {
        let server = try #require(DatabaseServer.shared)
        let settings = server.settings()
        try await promise.run { try await PostgreSQLStore.open(settings) }
    }

    @Test func `ten thousand instants of all years are exact`() async throws {
        let server = try #require(DatabaseServer.shared)
        let settings = server.settings()
        try await StoreConformance.instants(count: 10_000).run { try await PostgreSQLStore.open(settings) }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random queries agree with the reference`(seed: UInt64) async throws {
        let server = try #require(DatabaseServer.shared)
        let settings = server.settings()
        try await StoreConformance.randomQueries(rounds: 25, seed: seed).run { try await PostgreSQLStore.open(settings) }
    }
}
