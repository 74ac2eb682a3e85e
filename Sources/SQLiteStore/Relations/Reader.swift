import AdapterKit
import GRDB
import RecordStorage

/// Reads records of installed collections over one connection that is within a transaction.
struct Reader {
    let database: Database
    let catalogue: LayoutCatalogue

    func record(_ id: RecordID, in layout: CollectionLayout, visible: Filter?) throws -> Record? {
        guard let key = layout.keyCondition(id) else { return nil }
        guard let visible else {
            return try database.rows(SQLFragment("\(layout.selection) WHERE \(key.sql)", key.values), layout.record)
                .first
        }
        let condition = try RecordCompiler(layout, catalogue).condition(visible)
        var statement = SQLFragment("SELECT \(layout.selected) FROM \(RecordCompiler.source(layout))")
        statement.append(" WHERE \(key.sql) AND \(condition.sql)", key.values + condition.values)
        return try database.rows(statement, layout.record).first
    }

    /// The page ends early where its records would be larger than `bytes`, but not before the first one.
    func page(_ query: Query, in layout: CollectionLayout, atMost bytes: Int = .max) throws -> RecordPage {
        let compiled = try PageCompiler(query, in: layout, catalogue)
        let page = try page(compiled, in: layout, limit: query.limit, atMost: bytes)
        guard query.countsAll else { return RecordPage(records: page.records, next: page.next) }
        return RecordPage(
            records: page.records, next: page.next, total: try page.total ?? count(query.filter, in: layout))
    }

    /// With the total where the page's statement shows it.
    private func page(
        _ compiled: PageCompiler, in layout: CollectionLayout, limit: Int, atMost bytes: Int
    ) throws -> RecordPage {
        let execution = try Execution(database, compiled.statement)
        var records: [Record] = []
        var (rows, size) = (0, 0)
        var next: AdapterKit.Cursor?
        while try execution.step() {
            rows += 1
            guard rows > compiled.skipped, next == nil else { continue }
            let record = try layout.record(execution.row)
            size += record.writtenSize
            if records.count < limit, records.isEmpty || size <= bytes {
                records.append(record)
                continue
            }
            next = records.last.map(compiled.cursor)
            guard compiled.readsAhead else { return RecordPage(records: records, next: next) }
        }
        return RecordPage(records: records, next: next, total: compiled.total(of: rows))
    }

    func count(_ filter: Filter?, in layout: CollectionLayout) throws -> Int {
        let statement = try RecordCompiler(layout, catalogue).count(filter)
        return Int(try database.rows(statement) { $0.integer(0) }.first ?? 0)
    }
}
