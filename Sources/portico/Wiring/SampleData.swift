import AdapterKit
import Gateway
import SyncEngine

/// Fills an adapter that has no records with those it brings for showing itself.
struct SampleData {
    private let served: ServedAdapter
    private let records: any RecordStore

    init(_ served: ServedAdapter, store: any Store) {
        self.served = served
        records = served.ownRecords(in: store)
    }

    /// One transaction, so that a first start that is interrupted leaves nothing half-loaded.
    func load() async throws {
        for entity in served.declaration.entities where try await records.count(nil, in: entity.name) > 0 { return }
        let changes = try served.adapter.sampleRecords().flatMap { sample in
            sample.records.map { RecordChange(sample.entity, .create(nil, $0)) }
        }
        if !changes.isEmpty { _ = try await records.apply(changes) }
    }
}
