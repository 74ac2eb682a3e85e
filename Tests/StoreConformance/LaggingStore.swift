import AdapterKit
import RecordStorage
import Synchronization

/// A store whose ``Store/position`` lags behind its commits, by a number of them that a seed draws anew at each commit: what a
/// store may do that is shared with other processes.
///
/// Everything else is the underlying store's, which is exact. The position catches up when ``catchUp()`` is called, or by
/// itself a while after the last commit.
public final class LaggingStore: MirrorStore {
    private struct Lag {
        var random: SeededRandom
        /// Positions of commits that are not known yet, the oldest first.
        var commits: [Revision] = []
        var known: Revision
    }

    private let base: any MirrorStore
    private let most: Int
    private let pause: Duration?
    private let lag: Mutex<Lag>
    private let observers = CommitObservers()
    /// Observers are called one after the other, in the order of the positions.
    private let turn = Mutex(())

    /// `most`: commits by which the position lags at most. `pause`: after which it catches up where nothing is committed;
    /// nil: never.
    public init(_ base: any MirrorStore, seed: UInt64, most: Int = 3, catchingUpAfter pause: Duration? = nil) {
        self.base = base
        self.most = most
        self.pause = pause
        // What others have committed before is not known at once either.
        lag = Mutex(Lag(random: SeededRandom(seed: seed), known: Revision(0)))
        base.observe(self) { store, position in store.committed(position) }
        if base.position > Revision(0) { committed(base.position) }
    }

    /// Whatever was committed is known now.
    public func catchUp() { move { $0.commits.last } }

    private func committed(_ position: Revision) {
        let most = most
        move { lag in
            if position > lag.commits.last ?? lag.known { lag.commits.append(position) }
            let behind = Int.random(in: 0...most, using: &lag.random)
            return lag.commits.count > behind ? lag.commits[lag.commits.count - 1 - behind] : nil
        }
        guard let pause else { return }
        Task { [weak self] in
            try await Task.sleep(for: pause)
            self?.catchUp()
        }
    }

    private func move(to choose: (inout Lag) -> Revision?) {
        turn.withLock { _ in
            let moved = lag.withLock { lag -> Revision? in
                guard let chosen = choose(&lag), chosen > lag.known else { return nil }
                lag.known = chosen
                lag.commits.removeAll { $0 <= chosen }
                return chosen
            }
            if let moved { observers.notify(moved) }
        }
    }
}

extension LaggingStore {
    /// The store of every other simulation has a position that lags: by the seed alone, so that whatever else happens is the
    /// same without it. Nil for the others.
    public convenience init?(_ base: any MirrorStore, ofRun seed: UInt64) {
        guard seed.isMultiple(of: 2) else { return nil }
        self.init(base, seed: seed, most: 1 + Int(seed / 2 % 4))
    }
}

extension LaggingStore {
    public var position: Revision { lag.withLock { $0.known } }

    public var floor: Revision { min(base.floor, position) }

    /// Where the adapter's last change is not known yet, its position before that is not either: what is known is as far.
    public func position(of adapter: AdapterName) -> Revision {
        let known = position
        return min(base.position(of: adapter), known)
    }

    public func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion {
        try await base.currentVersion(of: adapter)
    }

    public func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) { observers.add(observer, body) }
}

extension LaggingStore {
    public var epoch: Epoch { base.epoch }

    public func install(_ collections: [CollectionDeclaration]) async throws { try await base.install(collections) }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record? {
        try await base.record(id, in: collection, visible: visible)
    }

    public func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        try await base.query(query, in: collection)
    }

    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) async throws -> RecordPage {
        try await base.query(query, in: collection, atMost: bytes)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        try await base.count(filter, in: collection)
    }

    public func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        try await base.write(transaction)
    }

    public func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        try await base.withReadSnapshot(expecting: reads, body)
    }

    public func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any StoreSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await base.streamSnapshot(within: time, body)
    }

    public func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await base.transact(weight: weight, expecting: reads, body)
    }

    public func changes(after position: Revision, limit: Int) async throws -> [LogEntry] {
        try await base.changes(after: position, limit: limit)
    }

    public func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        try await base.compact(bound, dryRun: dryRun)
    }

    public func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        try await base.forgetCopies(keptBefore: instant, dryRun: dryRun)
    }

    public func beginReplacement(of collection: CollectionID) async throws -> any RecordReplacement {
        try await base.beginReplacement(of: collection)
    }

    public func close() async { await base.close() }
}
