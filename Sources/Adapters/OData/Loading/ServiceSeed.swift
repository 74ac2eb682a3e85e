import AdapterKit
import Foundation
import ODataEngine
import ODataModel
import WireFormats

/// A service's first rows, from a JSON document: sets by name, each a list of rows in OData's JSON.
///
/// Besides what OData has, a row may say `_key`, a name by which others refer to it; a value may be `$generated` (a new
/// GUID), `$now`, or `$ref:Set/key` (the key of that row). `_stream` gives a media entity its bytes, as
/// `{"contentType", "base64url"}`; a place may stand as `{"geojson": …}`. Members that begin with `_` are no properties.
struct ServiceSeed: Sendable {
    private let configuration: ServiceConfiguration
    private let records: any RecordStore
    private let now: WireDate
    private var tables: ServiceTables { configuration.tables }

    init(_ configuration: ServiceConfiguration, records: any RecordStore, now: WireDate) {
        self.configuration = configuration
        self.records = records
        self.now = now
    }

    /// How many records were loaded.
    func loadIfEmpty() async throws -> Int {
        guard configuration.seed != nil else { return 0 }
        for entity in configuration.entities where try await records.count(nil, in: entity.name) > 0 { return 0 }
        return try await load()
    }

    /// Everything away, the seed in again, in one transaction.
    func reload() async throws {
        var changes = ChangeSet()
        for entity in configuration.entities.reversed() {
            var query = Query(limit: Query.maximumLimit)
            while true {
                let page = try await records.query(query, in: entity.name)
                for record in page.records { changes.add(RecordChange(entity.name, .delete(record.id))) }
                guard let next = page.next else { break }
                query.start = .after(next)
            }
        }
        _ = try await load(after: changes)
    }

    /// How many changes that were.
    private func load(after removals: ChangeSet = ChangeSet()) async throws -> Int {
        var changes = removals
        if let path = configuration.seed { try add(try Self.document(path), to: &changes) }
        if !changes.changes.isEmpty { _ = try await records.apply(changes.changes) }
        return changes.changes.count
    }

    private static func document(_ path: String) throws -> WireDictionary {
        guard let data = FileManager.default.contents(atPath: path),
            case .dictionary(let members) = try JSONFormat().read(Array(data))
        else { throw PorticoError(.serverInternal, "The seed \(path) cannot be read.") }
        return members
    }

    private func add(_ document: WireDictionary, to changes: inout ChangeSet) throws {
        var keys: [String: String] = [:]
        for member in document {
            guard let table = tables[member.key] else { continue }
            for row in member.value.arrayValue ?? [member.value] {
                try add(row.dictionaryValue ?? [:], table, &keys, &changes)
            }
        }
    }

    private func add(
        _ row: WireDictionary, _ table: RecordTable, _ keys: inout [String: String], _ changes: inout ChangeSet
    ) throws {
        var members = WireDictionary()
        for member in row where !member.key.hasPrefix("_") {
            members[member.key] = resolved(member.value, keys)
        }
        let payload = try EntityPayload(.dictionary(members), of: table, declared: table.type, model: tables.model)
        var fields = WireDictionary()
        let server = ServerValues(tables: tables, now: now)
        var values = server.creating(payload.type, payload.values)
        // A seed may set computed properties.
        for (name, value) in payload.values { values[name] = value }
        for (name, value) in values {
            if let column = table.columns[name] { fields[column.field.text] = value }
        }
        if let discriminator = table.discriminator {
            fields[discriminator.text] = .string(payload.type.name.description)
        }
        stream(row, table, &fields)
        let form = StoredValueCodec(model: tables.model)
        guard let id = table.recordID(fields: fields, form: form) else {
            throw PorticoError(.serverInternal, "A seeded row of \(table.source) has no key.")
        }
        if table.columns.values.allSatisfy({ $0.field != table.keyField }) {
            fields[table.keyField.text] = .string(id.text)
        }
        if let key = row["_key"]?.stringValue { keys["\(table.source)/\(key)"] = id.text }
        changes.create(id, fields, in: table.entity)
    }

    private func resolved(_ value: WireValue, _ keys: [String: String]) -> WireValue {
        switch value {
        case .string("$generated"): return .string(RandomGUID.next())
        case .string("$now"): return .string(now.rfc3339 ?? "")
        case .string(let text) where text.hasPrefix("$ref:"):
            return keys[String(text.dropFirst("$ref:".count))].map(WireValue.string) ?? .null
        case .dictionary(let members): return members["geojson"] ?? value
        default: return value
        }
    }

    /// A stream that the row gives; a stream property begins empty.
    private func stream(_ row: WireDictionary, _ table: RecordTable, _ fields: inout WireDictionary) {
        for (name, stream) in table.streams {
            guard name == "$value" else {
                fields[stream.content.text] = .data([])
                continue
            }
            guard let given = row["_stream"] else { continue }
            let text = (given["base64url"] ?? given["base64"] ?? given["data"])?.stringValue
            fields[stream.content.text] = .data(
                text.flatMap { Base64URL.decode(lenient: $0) } ?? Array((given["text"]?.stringValue ?? "").utf8))
            fields[stream.mediaType.text] = given["contentType"] ?? row["ContentType"] ?? .null
        }
    }
}
