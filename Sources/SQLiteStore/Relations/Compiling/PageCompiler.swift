import AdapterKit
import RecordStorage
import Synchronization

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

    /// Throws as ``RecordCompiler/relation(_:)`` does.
    init(_ query: Query, in layout: CollectionLayout, _ catalogue: LayoutCatalogue) throws(PorticoError) {
        offset = query.start.offset
        if query.filter == nil, let form = try layout.pages.form(of: query, layout, catalogue) {
            (order, skipped, readsAhead, limit) = (form.order, 0, false, query.limit + 1)
            statement = try form.statement(of: query)
            return
        }
        let records = try RecordCompiler(layout, catalogue)
        var relation = try records.relation(query)
        let rows = records.rows(where: relation.condition)
        relation.condition = rows.condition
        order = relation.fields
        readsAhead = query.countsAll && rows.isSearch && offset.map { $0 <= Self.readAhead } ?? false
        skipped = readsAhead ? offset ?? 0 : 0
        if readsAhead {
            relation.start = .first
            relation.limit = skipped + query.limit + Self.readAhead
        }
        limit = relation.limit ?? 0
        statement = try ClauseCompiler(relation: relation, expressions: records.expressions)
            .statement(columns: [SQLFragment(layout.selected)], from: rows.source)
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

/// The statements of an entity's pages without a filter: compiling one takes longer than binding its values.
final class PageForms: Sendable {
    /// Orders and starts whose statements are kept; callers choose them.
    private static let maximumForms = 64

    private let forms = Mutex<[PageForm]>([])

    /// Throws as ``QueryLowering/relation(_:of:_:)`` does. Nil where the form is none that is kept.
    fileprivate func form(
        of query: Query, _ layout: CollectionLayout, _ catalogue: LayoutCatalogue
    ) throws(PorticoError) -> PageForm? {
        guard let start = PageForm.Start(query.start) else { return nil }
        let known = forms.withLock { forms in forms.first { $0.start == start && $0.asked == query.order } }
        if let known { return known }
        guard let form = try PageForm(query, start, layout, catalogue) else { return nil }
        forms.withLock { forms in if forms.count < Self.maximumForms { forms.append(form) } }
        return form
    }
}

/// A statement that pages of one order and start have, and where its values come from.
private struct PageForm: Sendable {
    enum Start: Equatable {
        case first
        case offset
        /// Which of the cursor's values are null, bit by bit.
        case after(nulls: Int)

        /// Nil for a cursor that is too long to be one.
        init?(_ start: Query.Start) {
            switch start {
            case .first, .offset(0): self = .first
            case .offset: self = .offset
            case .after(let cursor):
                guard cursor.values.count <= Entity.maximumSortKeys + 1 else { return nil }
                var nulls = 0
                for (position, value) in cursor.values.enumerated() where value.isNull { nulls |= 1 << position }
                self = .after(nulls: nulls)
            }
        }
    }

    let start: Start
    /// The order of the query.
    let asked: [SortKey]
    /// The fields of the total order.
    let order: [FieldName]
    private let kinds: [ScalarKind]
    private let sql: String
    /// Which of the cursor's values each of the first parameters has.
    private let places: [Int]

    init?(
        _ query: Query, _ start: Start, _ layout: CollectionLayout, _ catalogue: LayoutCatalogue
    ) throws(PorticoError) {
        let records = try RecordCompiler(layout, catalogue)
        let relation = try records.relation(query)
        let clauses = try ClauseCompiler(relation: relation, expressions: records.expressions)
        var kinds: [ScalarKind] = []
        for field in relation.fields {
            guard case .scalar(let kind) = try layout.column(field).kind else { return nil }
            kinds.append(kind)
        }
        (self.start, asked, order, self.kinds) = (start, query.order, relation.fields, kinds)
        sql = try clauses.statement(columns: [SQLFragment(layout.selected)], from: records.rows(where: nil).source).sql
        if case .after(let values) = relation.start {
            places = try clauses.keyset(after: values).places
        } else {
            places = []
        }
    }

    /// Throws `record.cursorInvalid` for a cursor of another order.
    func statement(of query: Query) throws(PorticoError) -> SQLFragment {
        var values: [SQLValue] = []
        if case .after(let cursor) = query.start {
            guard cursor.values.count == kinds.count else { throw Keyset.foreignCursor }
            var bound: [SQLValue] = []
            for (kind, value) in zip(kinds, cursor.values) {
                guard let value = value.isNull ? .null : kind.comparable(value) else { throw Keyset.foreignCursor }
                bound.append(value)
            }
            values = places.map { bound[$0] }
        }
        values.append(.integer(Int64(query.limit + 1)))
        if case .offset(let rows) = query.start, rows > 0 { values.append(.integer(Int64(rows))) }
        return SQLFragment(sql, values)
    }
}
