import AdapterKit
import RecordStorage

/// A store for what needs records alone: without a log, and without what replicas need.
protocol RecordsOnlyStore: Store {}

extension RecordsOnlyStore {
    var floor: Revision { Revision(0) }

    func changes(after position: Revision, limit: Int) async throws -> [LogEntry] { [] }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        throw Self.nothingOfThat
    }

    func transact<Result: Sendable>(
        weight: Int, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        throw Self.nothingOfThat
    }

    func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction { throw Self.nothingOfThat }

    func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int { throw Self.nothingOfThat }

    func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) {}

    private static var nothingOfThat: PorticoError { PorticoError(.serverInternal, "Identity needs no such thing.") }
}
