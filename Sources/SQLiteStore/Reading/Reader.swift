import AdapterKit
import GRDB

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

    func page(_ query: Query, in layout: CollectionLayout) throws -> RecordPage {
        let compiled = try PageCompiler(query, in: layout, FilterCompiler(catalogue: catalogue))
        let total = query.countsAll ? try number(compiled.count()) : nil
        return try page(compiled, limit: query.limit, total: total)
    }

    private func page(_ compiled: PageCompiler, limit: Int, total: Int?) throws -> RecordPage {
        var records = try database.rows(compiled.page(), compiled.layout.record)
        guard records.count > limit else { return RecordPage(records: records, next: nil, total: total) }
        records.removeLast()
        return RecordPage(records: records, next: records.last.map(compiled.cursor), total: total)
    }

    func count(_ filter: Filter?, in layout: CollectionLayout) throws -> Int {
        let condition = try filter.map { try FilterCompiler(catalogue: catalogue).condition($0, in: layout) }
        return try number(PageCompiler.count(layout, condition))
    }

    private func number(_ statement: SQLFragment) throws -> Int {
        Int(try database.rows(statement) { $0.integer(0) }.first ?? 0)
    }
}
