import AdapterKit
import GRDB
import RecordStorage

/// The log's rows. An entry of kind `remove` is the record's tombstone; there is no other.
enum OperationLog {
    private static let put: Int64 = 0
    private static let remove: Int64 = 1

    static func append(
        _ effect: StepChange.Effect, at position: Int64, _ time: WireDate, in layout: CollectionLayout,
        on database: Database
    ) throws {
        var scope = WireDictionary()
        if let before = effect.before {
            for field in layout.scopeFields { scope[field.text] = before[field] }
        }
        let previous: SQLValue = scope.isEmpty ? .null : .blob(try EncodedValue.encode(.dictionary(scope)))
        try database.run(
            """
            INSERT INTO portico_log (position, collection, record, kind, previous, before, changed, time)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(position), .integer(layout.number), .text(effect.id.text),
                .integer(effect.after == nil ? remove : put), previous,
                effect.before.map { .integer($0.revision.number) } ?? .null,
                effect.changedFields.map { .text($0.map(\.text).joined(separator: " ")) } ?? .null,
                .real(time.secondsSinceReferenceDate),
            ])
    }

    /// Entries of collections that are not installed are left out: nobody could read their records.
    static func entries(after position: Revision, limit: Int, on database: Database) throws -> [LogEntry] {
        let floor = try LogFloor.read(database)
        guard position >= floor else { throw PorticoError.belowFloor(floor) }
        let statement = SQLFragment(
            "\(selection) WHERE l.position > ? ORDER BY l.position LIMIT ?",
            [.integer(position.number), .integer(Int64(limit))])
        return try database.rows(statement, entry)
    }

    static func history(
        of id: RecordID, in layout: CollectionLayout, limit: Int, on database: Database
    ) throws -> [LogEntry] {
        let statement = SQLFragment(
            """
            \(selection) WHERE l.collection = ? AND l.record = ? AND l.position > ?
            ORDER BY l.position DESC LIMIT ?
            """,
            [
                .integer(layout.number), .text(id.text), .integer(try LogFloor.read(database).number),
                .integer(Int64(limit)),
            ])
        return try database.rows(statement, entry)
    }

    private static let selection = """
        SELECT l.position, c.adapter, c.entity, l.record, l.kind, l.previous, l.before, l.changed, l.time
        FROM portico_log l JOIN portico_collection c ON c.number = l.collection
        """

    private static func entry(_ row: RowReader) throws -> LogEntry {
        let previous = row.isNull(5) ? nil : try EncodedValue.decode(row.blob(5)).dictionaryValue
        return LogEntry(
            position: Revision(row.integer(0)),
            collection: CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2))),
            id: RecordID(unchecked: row.text(3)), kind: row.integer(4) == remove ? .remove : .put,
            time: WireDate(secondsSinceReferenceDate: row.real(8)),
            previousRevision: row.isNull(6) ? nil : Revision(row.integer(6)), previousScopeValues: previous ?? [:],
            changedFields: row.isNull(7) ? nil : row.text(7).split(separator: " ").map { FieldName(unchecked: "\($0)") }
        )
    }
}

extension StepChange.Effect {
    /// Nil where the record came or went.
    fileprivate var changedFields: [FieldName]? {
        guard let before, let after else { return nil }
        return zip(before.fields, after.fields).compactMap { $0.value == $1.value ? nil : FieldName(unchecked: $1.key) }
    }
}
