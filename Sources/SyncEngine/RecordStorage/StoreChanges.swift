import AdapterKit
import Synchronization

/// One adapter's records as they come, read from the log.
public final class StoreChanges: ChangeFeed {
    /// Log entries looked at in one read.
    private static let page = 500

    private let store: any Store
    private let adapter: AdapterName
    private let waiting = Mutex<(last: UInt64, signals: [UInt64: AsyncStream<Void>.Continuation])>((0, [:]))

    /// Observes the store's commits for as long as the object lives.
    public init(store: any Store, adapter: AdapterName) {
        self.store = store
        self.adapter = adapter
        store.observe(self) { changes, _ in changes.wake() }
    }

    public var position: Revision { store.position }

    public func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords {
        var position = position
        while true {
            try Task.checkCancellation()
            // Heard from here on, so that nothing comes between the read and the wait.
            let (number, commits) = listen()
            defer { forget(number) }
            if store.position(of: adapter) > position {
                let (found, isComplete) = try await read(CollectionID(adapter, entity), after: position)
                if !found.records.isEmpty || !isComplete { return found }
                position = found.position
            }
            for await _ in commits { break }
        }
    }

    private func read(
        _ collection: CollectionID, after position: Revision
    ) async throws -> (CreatedRecords, isComplete: Bool) {
        try await store.withReadSnapshot(expecting: [.changes(after: position, limit: Self.page)]) { snapshot in
            let entries = try snapshot.changes(after: position, limit: Self.page)
            let created = entries.filter {
                $0.collection == collection && $0.kind == .put && $0.previousRevision == nil
            }
            try snapshot.prefetch(created.map { .record($0.id, in: collection) })
            let records = try created.compactMap { try snapshot.record($0.id, in: collection, visible: nil) }
            let isComplete = entries.count < Self.page
            let end = isComplete ? snapshot.position : entries.last?.position ?? snapshot.position
            return (CreatedRecords(records: records, position: end), isComplete)
        }
    }

    private func listen() -> (UInt64, AsyncStream<Void>) {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = waiting.withLock { waiting in
            waiting.last += 1
            waiting.signals[waiting.last] = signal
            return waiting.last
        }
        return (number, stream)
    }

    private func forget(_ number: UInt64) { waiting.withLock { $0.signals[number] = nil } }

    private func wake() {
        for signal in waiting.withLock({ $0.signals.values.map { $0 } }) { signal.yield() }
    }
}
