import AdapterKit
import Gateway
import RecordStorage

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
        let samples = try served.adapter.sampleRecords().filter { !$0.records.isEmpty }
        guard !samples.isEmpty else { return }
        served.log.info(
            "loading sample records",
            ["entities": .text(samples.map { "\($0.entity) \($0.records.count)" }.joined(separator: ", "))])
        let changes = samples.flatMap { sample in
            sample.records.map { RecordChange(sample.entity, .create(nil, $0)) }
        }
        _ = try await records.apply(changes)
        served.log.info("sample records loaded", ["records": .count(changes.count)])
    }
}
