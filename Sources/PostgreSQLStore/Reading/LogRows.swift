import AdapterKit
import RecordStorage

/// The log's rows. An entry of kind `remove` is the record's tombstone; there is no other.
enum LogRows {
    static let put: Int64 = 0
    static let remove: Int64 = 1
    static let replaceAll: Int64 = 2

    private static let columns =
        "l.position, c.adapter, c.entity, l.record, l.kind, l.previous, l.before, l.changed, l.time"
    private static let source = "portico_log l JOIN portico_collection c ON c.number = l.collection"

    static func entries(after position: Revision, limit: Int) -> SQLFragment {
        SQLFragment(
            "SELECT \(columns) FROM \(source) WHERE l.position > ? ORDER BY l.position LIMIT ?",
            [.integer(position.number), .integer(Int64(limit))])
    }

    /// Newest entries of each record, as many as asked for; all together newest first.
    static func latest(_ asked: [(collection: Int64, record: RecordID, limit: Int)]) -> SQLFragment {
        let found = """
            SELECT * FROM portico_log WHERE collection = u.c AND record = u.r ORDER BY position DESC LIMIT u.n
            """
        return SQLFragment(
            """
            SELECT \(columns) FROM unnest(?, ?, ?) AS u (c, r, n) CROSS JOIN LATERAL (\(found)) l
            JOIN portico_collection c ON c.number = l.collection ORDER BY l.position DESC
            """,
            [
                .array(.integer, asked.map { .integer($0.collection) }),
                .array(.bytes, asked.map { .text($0.record.text) }),
                .array(.integer, asked.map { .integer(Int64($0.limit)) }),
            ])
    }

    /// Entries of each record after a position; all together newest first.
    static func later(_ asked: [(collection: Int64, record: RecordID, after: Revision)]) -> SQLFragment {
        SQLFragment(
            """
            SELECT \(columns) FROM unnest(?, ?, ?) AS u (c, r, p)
            JOIN portico_log l ON l.collection = u.c AND l.record = u.r AND l.position > u.p
            JOIN portico_collection c ON c.number = l.collection ORDER BY l.position DESC
            """,
            [
                .array(.integer, asked.map { .integer($0.collection) }),
                .array(.bytes, asked.map { .text($0.record.text) }),
                .array(.integer, asked.map { .integer($0.after.number) }),
            ])
    }

    static func entry(_ row: SQLRow) throws -> LogEntry {
        let previous = row.isNull(5) ? nil : try EncodedValue.decode(row.bytes(5)).dictionaryValue
        return LogEntry(
            position: Revision(row.integer(0)),
            collection: CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2))),
            id: RecordID(unchecked: row.text(3)), kind: kind(row.integer(4)),
            time: WireDate(secondsSinceReferenceDate: row.real(8)),
            previousRevision: row.isNull(6) ? nil : Revision(row.integer(6)), previousScopeValues: previous ?? [:],
            changedFields: row.isNull(7) ? nil : row.text(7).split(separator: " ").map { FieldName(unchecked: "\($0)") }
        )
    }

    private static func kind(_ number: Int64) -> LogEntry.Kind {
        switch number {
        case remove: .remove
        case replaceAll: .replaceAll
        default: .put
        }
    }
}
