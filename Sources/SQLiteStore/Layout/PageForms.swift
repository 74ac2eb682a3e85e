import AdapterKit
import RecordStorage
import Synchronization

/// The statements of an entity's pages but for their conditions: compiling one takes longer than binding its values.
final class PageForms: Sendable {
    /// Orders and starts whose statements are kept; callers choose them.
    private static let maximumForms = 64

    private let forms = Mutex<[PageForm]>([])

    /// The form of the query's order and start; nil where none is kept.
    func form(of query: Query) -> PageForm? {
        guard let start = PageForm.Start(query.start) else { return nil }
        return forms.withLock { forms in forms.first { $0.start == start && $0.asked == query.order } }
    }

    func keep(_ form: PageForm) {
        forms.withLock { forms in if forms.count < Self.maximumForms { forms.append(form) } }
    }
}

/// The statement that pages of one order and start have around their conditions, and where its values come from.
struct PageForm: Sendable {
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
    let kinds: [ScalarKind]
    /// The columns and the table.
    let head: String
    /// The condition that rows come after a cursor; nil where there is none.
    let keyset: String?
    /// The order and the limit.
    let tail: String
    /// Which of the cursor's values each of the keyset's parameters has.
    let places: [Int]

    /// The statement of a query's page of the records for which a condition holds. Throws `record.cursorInvalid` for a
    /// cursor of another order.
    func statement(of query: Query, where condition: SQLFragment?) throws(PorticoError) -> SQLFragment {
        var sql = head
        var values: [SQLValue] = condition?.values ?? []
        if condition != nil || keyset != nil {
            sql += " WHERE ("
            if let condition { sql += condition.sql }
            if condition != nil, keyset != nil { sql += " AND " }
            if let keyset { sql += keyset }
            sql += ")"
        }
        sql += tail
        if case .after(let cursor) = query.start {
            guard cursor.values.count == kinds.count else { throw Self.foreignCursor }
            var bound: [SQLValue] = []
            for (kind, value) in zip(kinds, cursor.values) {
                guard let value = value.isNull ? .null : kind.comparable(value) else { throw Self.foreignCursor }
                bound.append(value)
            }
            values += places.map { bound[$0] }
        }
        values.append(.integer(Int64(query.limit + 1)))
        if case .offset(let rows) = query.start, rows > 0 { values.append(.integer(Int64(rows))) }
        return SQLFragment(sql, values)
    }

    static var foreignCursor: PorticoError {
        PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor")
    }
}
