import AdapterKit
import GRDB
import SyncEngine

/// The log's rows. An entry of kind `remove` is the record's tombstone; there is no other.
enum OperationLog {
    private static let put: Int64 = 0
    private static let remove: Int64 = 1

    static func append(
        _ effect: StepChange.Effect, at position: Int64, in layout: CollectionLayout, on database: Database
    ) throws {
        var scope = WireDictionary()
        if let before = effect.before {
            for field in layout.scopeFields { scope[field.text] = before[field] }
        }
        let previous: SQLValue = scope.isEmpty ? .null : .blob(try EncodedValue.encode(.dictionary(scope)))
        try database.run(
            "INSERT INTO portico_log (position, collection, record, kind, previous) VALUES (?, ?, ?, ?, ?)",
            [
                .integer(position), .integer(layout.number), .text(effect.id.text),
                .integer(effect.after == nil ? remove : put), previous,
            ])
    }

    static func setPosition(_ position: Int64, of adapter: AdapterName, on database: Database) throws {
        try database.run(
            """
            INSERT INTO portico_position (adapter, position) VALUES (?, ?)
            ON CONFLICT (adapter) DO UPDATE SET position = excluded.position
            """, [.text(adapter.text), .integer(position)])
    }

    static func positions(on database: Database) throws -> LogPositions {
        let rows = try database.rows(SQLFragment("SELECT adapter, position FROM portico_position")) {
            (AdapterName(unchecked: $0.text(0)), $0.integer(1))
        }
        let last = try database.row("SELECT max(position) FROM portico_log") { $0.integer(0) } ?? 0
        let adapters = Dictionary(uniqueKeysWithValues: rows)
        return LogPositions(last: max(last, adapters.values.max() ?? 0), adapters: adapters)
    }

    /// Entries of collections that are not installed are left out: nobody could read their records.
    static func entries(
        after position: Revision, limit: Int, in catalogue: LayoutCatalogue, on database: Database
    ) throws -> [LogEntry] {
        let statement = SQLFragment(
            """
            SELECT l.position, c.adapter, c.entity, l.record, l.kind, l.previous
            FROM portico_log l JOIN portico_collection c ON c.number = l.collection
            WHERE l.position > ? ORDER BY l.position LIMIT ?
            """, [.integer(position.number), .integer(Int64(limit))])
        return try database.rows(statement, entry)
    }

    private static func entry(_ row: RowReader) throws -> LogEntry {
        let previous = row.isNull(5) ? nil : try EncodedValue.decode(row.blob(5)).dictionaryValue
        return LogEntry(
            position: Revision(row.integer(0)),
            collection: CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2))),
            id: RecordID(unchecked: row.text(3)), kind: row.integer(4) == remove ? .remove : .put,
            previousScopeValues: previous ?? [:])
    }
}
