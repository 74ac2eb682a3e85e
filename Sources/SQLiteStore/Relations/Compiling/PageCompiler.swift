import AdapterKit
import RecordStorage

/// From a query to the statement of one page and what its cursors are made of.
struct PageCompiler {
    /// One row more than the page has, at least, which shows whether there is a next page.
    let statement: SQLFragment
    /// How many of the statement's rows the reader skips.
    let skipped: Int
    /// Whether the reader steps through the rows behind the page.
    let readsAhead: Bool
    /// The fields of the total order.
    private let order: [FieldName]
    /// Rows that the statement has at most.
    private let limit: Int
    /// Rows before the page; nil behind a cursor.
    private let offset: Int?

    /// Rows that a counted search reads before its page, and behind it, at most. Most searches find so few, and sort all
    /// that they find: then their number is known without a statement that counts.
    static let readAhead = 100

    /// Throws as ``RecordCompiler/relation(_:where:)`` does.
    init(_ query: Query, in layout: CollectionLayout, _ catalogue: LayoutCatalogue) throws(PorticoError) {
        if query.filter == nil, let form = layout.pages.form(of: query) {
            try self.init(query, form, where: nil)
            return
        }
        let records = try RecordCompiler(layout, catalogue)
        let rows = records.rows(
            where: try query.filter.map { (filter) throws(PorticoError) in try records.lowered(filter) })
        if !rows.isSearch, let form = try Self.form(of: query, records) {
            let condition = try rows.condition.map { (condition) throws(PorticoError) in
                try records.expressions.condition(condition)
            }
            try self.init(query, form, where: condition)
        } else {
            try self.init(query, rows, records)
        }
    }

    private init(_ query: Query, _ form: PageForm, where condition: SQLFragment?) throws(PorticoError) {
        offset = query.start.offset
        (order, skipped, readsAhead, limit) = (form.order, 0, false, query.limit + 1)
        statement = try form.statement(of: query, where: condition)
    }

    private init(_ query: Query, _ rows: RecordCompiler.Rows, _ records: RecordCompiler) throws(PorticoError) {
        offset = query.start.offset
        var relation = try records.relation(query, where: rows.condition)
        order = relation.fields
        readsAhead = query.countsAll && rows.isSearch && offset.map { $0 <= Self.readAhead } ?? false
        skipped = readsAhead ? offset ?? 0 : 0
        if readsAhead {
            relation.start = .first
            relation.limit = skipped + query.limit + Self.readAhead
        }
        limit = relation.limit ?? 0
        statement = try ClauseCompiler(relation: relation, expressions: records.expressions)
            .statement(columns: [SQLFragment(records.layout.selected)], from: rows.source)
    }

    /// The statement's form, compiled where it is not known. Nil where it is none that is kept.
    private static func form(of query: Query, _ records: RecordCompiler) throws(PorticoError) -> PageForm? {
        let layout = records.layout
        if let known = layout.pages.form(of: query) { return known }
        guard let start = PageForm.Start(query.start) else { return nil }
        let relation = try records.relation(query, where: nil)
        let clauses = try ClauseCompiler(relation: relation, expressions: records.expressions)
        var kinds: [ScalarKind] = []
        for field in relation.fields {
            guard case .scalar(let kind) = try layout.column(field).kind else { return nil }
            kinds.append(kind)
        }
        var keyset: Keyset?
        if case .after(let values) = relation.start { keyset = try clauses.keyset(after: values) }
        let form = PageForm(
            start: start, asked: query.order, order: relation.fields, kinds: kinds,
            head: "SELECT " + layout.selected + records.rows(where: nil).source.sql, keyset: keyset?.condition.sql,
            tail: (clauses.ordered() + clauses.limited()).sql, places: keyset?.places ?? [])
        layout.pages.keep(form)
        return form
    }

    /// The number of all rows, from those that the page's statement has to its end; nil where it does not show.
    ///
    /// Where it does not, a statement of its own counts: `count(*) OVER ()` on the page measured three times slower.
    func total(of rows: Int) -> Int? {
        guard let offset else { return nil }
        let before = readsAhead ? 0 : offset
        guard rows < limit, rows > 0 || before == 0 else { return nil }
        return before + rows
    }

    func cursor(after record: Record) -> Cursor {
        Cursor(values: order.map { record[$0] })
    }
}

extension Query.Start {
    /// Nil behind a cursor.
    fileprivate var offset: Int? {
        switch self {
        case .offset(let rows): rows
        case .first: 0
        case .after: nil
        }
    }
}

extension Relation {
    /// The fields of a lowered query's order.
    fileprivate var fields: [FieldName] {
        order.compactMap { if case .field(_, let name) = $0.expression { name } else { nil } }
    }
}
