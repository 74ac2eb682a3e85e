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
        do {
            try await promise.run { try await PostgreSQLStore.open(settings) }
        } catch let error as PorticoError where error.code == .adapterUnavailable {
            withKnownIssue("relations belong to the breadth of the store") { throw error }
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random queries agree with the reference`(seed: UInt64) async throws {
        let server = try #require(DatabaseServer.shared)
        let settings = server.settings()
        try await StoreConformance.randomQueries(rounds: 25, seed: seed).run {
            try await PostgreSQLStore.open(settings)
        }
    }
}
