import AdapterKit
import GRDB

/// Records that a migration changes get new revisions and log entries, like any other change, so that replicas learn
/// of it.
struct RecordTouches {
    let database: Database
    private(set) var position: Int64
    let time: WireDate
    private(set) var touched: [AdapterName: Int64] = [:]

    init(database: Database, position: Int64, time: WireDate) {
        self.database = database
        self.position = position
        self.time = time
    }

    mutating func touch(_ layout: CollectionLayout, where condition: String) throws {
        let key = "CAST(\(layout.key.name) AS TEXT)"
        let ranked = "row_number() OVER (ORDER BY \(layout.rowColumn))"
        try database.run(
            """
            INSERT INTO portico_log (position, collection, record, kind, before, time)
            SELECT ? + \(ranked), ?, \(key), 0, \(CollectionLayout.revisionColumn), ?
            FROM \(layout.table) WHERE \(condition)
            """, [.integer(position), .integer(layout.number), .real(time.secondsSinceReferenceDate)])
        let count = Int64(database.changesCount)
        if count == 0 { return }
        try database.run(
            """
            UPDATE \(layout.table) SET \(CollectionLayout.revisionColumn) = l.position FROM portico_log l
            WHERE l.position > ? AND l.record = \(key)
            """, [.integer(position)])
        position += count
        touched[layout.id.adapter] = position
    }

    /// The revision that the record has which ``log(_:_:in:)`` is called for next.
    func next(in layout: CollectionLayout) -> Revision { Revision(position + 1) }

    /// One record was changed, created or, with nil for what it is afterwards, removed.
    mutating func log(_ before: Record?, _ after: Record?, in layout: CollectionLayout) throws {
        guard let id = after?.id ?? before?.id else { return }
        position += 1
        touched[layout.id.adapter] = position
        let effect = StepChange.Effect(layout: layout, id: id, before: before, after: after)
        try OperationLog.append(effect, at: position, time, in: layout, on: database)
    }

    func finish() throws {
        for (adapter, last) in touched { try StoredPositions.set(last, of: adapter, on: database) }
    }
}
