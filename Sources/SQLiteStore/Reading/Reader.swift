import AdapterKit
import GRDB
import RecordStorage

/// Reads records of installed collections over one connection that is within a transaction.
struct Reader {
    let database: Database
    let catalogue: LayoutCatalogue

    func record(_ id: RecordID, in layout: CollectionLayout, visible: Filter?) throws -> Record? {
        guard let key = layout.keyCondition(id) else { return nil }
        var statement = SQLFragment("\(layout.selection) WHERE \(key.sql)", key.values)
        if let visible {
            let condition = try FilterCompiler(catalogue: catalogue).condition(visible, in: layout)
            statement.append(" AND \(condition.sql)", condition.values)
        }
        return try database.rows(statement, layout.record).first
    }

    /// The page ends early where its records would be larger than `bytes`, but not before the first one.
    func page(_ query: Query, in layout: CollectionLayout, atMost bytes: Int = .max) throws -> RecordPage {
        let compiled = try PageCompiler(query, in: layout, FilterCompiler(catalogue: catalogue))
        let total = query.countsAll ? try number(compiled.count()) : nil
        return try page(compiled, limit: query.limit, atMost: bytes, total: total)
    }

    private func page(_ compiled: PageCompiler, limit: Int, atMost bytes: Int, total: Int?) throws -> RecordPage {
        let execution = try Execution(database, compiled.page())
        var records: [Record] = []
        var size = 0
        while try execution.step() {
            let record = try compiled.layout.record(execution.row)
            size += record.writtenSize
            guard records.count < limit, records.isEmpty || size <= bytes else {
                return RecordPage(records: records, next: records.last.map(compiled.cursor), total: total)
            }
            records.append(record)
        }
        return RecordPage(records: records, next: nil, total: total)
    }

    func count(_ filter: Filter?, in layout: CollectionLayout) throws -> Int {
        let condition = try filter.map { try FilterCompiler(catalogue: catalogue).condition($0, in: layout) }
        return try number(PageCompiler.count(layout, condition))
    }

    private func number(_ statement: SQLFragment) throws -> Int {
        Int(try database.rows(statement) { $0.integer(0) }.first ?? 0)
    }
}
