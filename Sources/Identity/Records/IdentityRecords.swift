import AdapterKit
import RecordStorage

/// The store as Identity uses it: its own adapter's records, without row rules.
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

/// The names of Identity's collections in the shared store. No adapter and no resource exposes them.
enum IdentityCollections {
    static let adapter: AdapterName = "identity"
    static let accounts: EntityName = "accounts"
    static let sessions: EntityName = "sessions"
    static let signingKeys: EntityName = "signingKeys"
    static let apiKeys: EntityName = "apiKeys"
    static let adminTokens: EntityName = "adminTokens"
    static let links: EntityName = "links"
    static let auditEntries: EntityName = "auditEntries"
    static let auditHead: EntityName = "auditHead"

    /// An entity with the key `id` that Identity assigns, accessible to Identity alone.
    static func entity(_ name: EntityName, summary: String, fields: [Field], indexes: [Index] = []) -> Entity {
        Entity(
            name, summary: summary, key: EntityKey("id", chosenBy: .caller),
            fields: [Field("id", .string(maximumLength: 64), isRequired: true)] + fields, indexes: indexes,
            rows: RowRules(read: .nobody, write: .nobody), writers: .nobody, conflictPolicy: .reject,
            exposure: .adapterOnly)
    }
}

/// Reads typed values out of a stored record. What is not as it was written is the server's fault, not the caller's.
struct RecordReader {
    let record: Record

    init(_ record: Record) {
        self.record = record
    }

    func text(_ field: FieldName) throws -> String {
        try require(record[field].stringValue, field)
    }

    func name<Name: ValidatedName>(_ field: FieldName, as type: Name.Type = Name.self) throws -> Name {
        try require(record[field].stringValue.flatMap { Name($0) }, field)
    }

    func id<ID: OpaqueID>(as type: ID.Type = ID.self) throws -> ID {
        try require(ID(record.id.text), "id")
    }

    func choice<Choice: RawRepresentable<String>>(_ field: FieldName) throws -> Choice {
        try require(record[field].stringValue.flatMap { Choice(rawValue: $0) }, field)
    }

    func integer(_ field: FieldName) throws -> Int64 {
        try require(record[field].int64Value, field)
    }

    func date(_ field: FieldName) throws -> WireDate {
        try require(record[field].dateValue, field)
    }

    func digest(_ field: FieldName) throws -> SecretDigest {
        SecretDigest(stored: try require(record[field].dataValue, field))
    }

    func names<Name: ValidatedName>(_ field: FieldName, as type: Name.Type = Name.self) throws -> Set<Name> {
        let texts = try require(record[field].arrayValue?.map(\.stringValue), field)
        return Set(try texts.map { try require($0.flatMap { Name($0) }, field) })
    }

    /// Nil where the field holds null; otherwise what `read` makes of it.
    func optional<Value>(_ field: FieldName, _ read: (FieldName) throws -> Value) throws -> Value? {
        record[field].isNull ? nil : try read(field)
    }

    func require<Value>(_ value: Value?, _ field: FieldName) throws -> Value {
        guard let value else {
            throw PorticoError(
                .serverInternal, "A stored identity record can't be read.",
                logDetail: "record \(record.id), field \(field)")
        }
        return value
    }
}

extension WireValue {
    static func names<Name: ValidatedName>(_ names: Set<Name>) -> WireValue {
        .array(names.sorted().map { .string($0.text) })
    }

    static func optional(_ date: WireDate?) -> WireValue {
        date.map { .date($0) } ?? .null
    }

    static func digest(_ digest: SecretDigest) -> WireValue {
        .data(digest.bytes)
    }
}
