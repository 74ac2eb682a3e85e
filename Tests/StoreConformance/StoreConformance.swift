import AdapterKit
import Foundation
import RecordStorage

/// What every ``Store`` has to fulfil, as cases that each run on an empty store of their own.
///
/// A case throws ``ConformanceFailure`` where the store does not keep a promise. Run them all, one test for each:
///
///     @Test(arguments: StoreConformance.cases)
///     func `a store keeps its promises`(_ promise: ConformanceCase) async throws {
///         try await promise.run { try SQLiteStore(…) }
///     }
public enum StoreConformance {
    public static let cases: [ConformanceCase] =
        recordCases + readCases + conditionCases + authorCases + accessCases + deletionCases + queryCases + pagingCases
        + searchCases + logCases
        + snapshotCases
        + pushCases + pendingWriteCases + compactionCases + concurrencyCases + installCases + instantCases

    /// Random filters, orders and pages against ``FilterReference``: ten in each of `rounds`, from one seed.
    /// `PORTICO_QUERY_ROUNDS` sets another number of rounds.
    public static func randomQueries(rounds: Int, seed: UInt64) -> ConformanceCase {
        let rounds = ProcessInfo.processInfo.environment["PORTICO_QUERY_ROUNDS"].flatMap { Int($0) } ?? rounds
        return ConformanceCase("random queries agree with the reference") { store in
            try await RandomQueries(store: store, seed: seed).run(rounds: rounds)
        }
    }
}

/// One promise.
public struct ConformanceCase: Sendable, CustomStringConvertible {
    /// A sentence.
    public let description: String
    private let body: @Sendable (any Store) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (any Store) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Runs it on the store that `open` gives, which must be empty; installs the collections it needs, closes the store.
    public func run(_ open: @Sendable () async throws -> any Store) async throws {
        let store = try await open()
        do {
            try await store.install(Samples.collections)
            try await body(store)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }
}

/// A promise that was not kept.
public struct ConformanceFailure: Error, CustomStringConvertible {
    public let description: String
}

func expect(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(description: promise()) }
}

func expectEqual<Value: Equatable>(_ found: Value, _ expected: Value, _ promise: String) throws {
    try expect(found == expected, "\(promise): found \(found), expected \(expected)")
}

/// Fails unless the body throws an error of that code; gives the error.
@discardableResult
func expectError(
    _ code: ErrorCode, _ promise: String, _ body: () async throws -> Void
) async throws -> PorticoError {
    do {
        try await body()
    } catch let error as PorticoError {
        try expect(error.code == code, "\(promise): \(error) instead of \(code.rawValue)")
        return error
    }
    throw ConformanceFailure(description: "\(promise): nothing was thrown instead of \(code.rawValue)")
}
