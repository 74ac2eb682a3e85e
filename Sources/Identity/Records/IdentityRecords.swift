import AdapterKit
import RecordStorage

/// The store, as this room uses it: its own adapter's records, without row rules.
struct IdentityRecords: Sendable {
    let store: any Store

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await store.record(id, in: collection(entity), visible: nil)
    }

    /// The one record whose field holds that text.
    func record(where field: FieldName, equals text: String, in entity: EntityName) async throws -> Record? {
        let query = Query(.compare(field, .equal, .string(text)), limit: 1)
        return try await store.query(query, in: collection(entity)).records.first
    }

    func page(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await store.query(query, in: collection(entity))
    }

    /// Every matching record, page by page; for collections that a named limit keeps small.
    func all(_ filter: Filter? = nil, order: [SortKey] = [], in entity: EntityName) async throws -> [Record] {
        var records: [Record] = []
        var start = Query.Start.first
        while true {
            let page = try await page(Query(filter, order: order, limit: 1000, start: start), in: entity)
            records += page.records
            guard let next = page.next else { return records }
            start = .after(next)
        }
    }

    @discardableResult
    func write(_ changes: [RecordChange], author: String) async throws -> WriteReceipt {
        let steps = changes.map { WriteTransaction.Step(adapter: IdentityCollections.adapter, change: $0) }
        return try await store.write(WriteTransaction(steps, author: author))
    }

    private func collection(_ entity: EntityName) -> CollectionID {
        CollectionID(IdentityCollections.adapter, entity)
    }
}
