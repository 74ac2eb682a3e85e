import AdapterKit
import RecordStorage

/// A recursion while its step is compiled: what its rows are called, and of which kinds they are.
struct OpenRecursion {
    let table: String
    let kinds: [RowKind?]
}

// Rows found from rows.
extension RelationCompiler {
    /// A common table expression within the place where its rows are read, as `name` is the only one to be called.
    func compile(_ recursion: Recursion, as name: SourceName) throws(PorticoError) -> Compiled {
        var outer = self
        outer.recursion = nil
        let start = try outer.compile(recursion.start)
        let table = "r\(name.number)"
        var inner = self
        inner.recursion = OpenRecursion(table: table, kinds: start.kinds)
        let step = try inner.compile(recursion.step, as: start.kinds)
        guard try Self.common(start.kinds, step.kinds) == start.kinds else {
            throw PorticoError(.requestInvalid, "The rows of a recursion are of the kinds that it begins with.")
        }
        let names = start.kinds.indices.map { "c\($0)" }.joined(separator: ", ")
        let union = recursion.order.isEmpty ? "UNION" : "UNION ALL"
        let place = recursion.order.isEmpty ? "" : ", row_number() OVER () AS c\(start.kinds.count)"
        let sql =
            "WITH RECURSIVE \(table)(\(names)) AS (SELECT * FROM ($) \(union) $\(try Self.order(recursion))) "
            + "SELECT \(names)\(place) FROM \(table)"
        let kinds = recursion.order.isEmpty ? start.kinds : start.kinds + [.integer]
        return Compiled(fragment: .build(sql, [start.fragment, step.fragment]), kinds: kinds)
    }

    /// A step reads the rows found by the table's name, once.
    mutating func found(as name: SourceName) throws(PorticoError) -> SQLFragment {
        guard let open = recursion else {
            throw PorticoError(.requestInvalid, "There is no recursion whose rows could be gone on from.")
        }
        recursion = nil
        try scope.add(name, .rows(open.kinds), isOptional: false)
        return SQLFragment("\(open.table) AS \(name.sql)")
    }

    private static func order(_ recursion: Recursion) throws(PorticoError) -> String {
        let step = recursion.step
        guard step.order.isEmpty, step.limit == nil, step.start == .first, step.window == nil, step.groups == nil,
            recursion.order.allSatisfy({ step.columns.indices.contains($0.column) })
        else { throw PorticoError(.requestInvalid, "A recursion's step takes all that a row leads to.") }
        guard !recursion.order.isEmpty else { return "" }
        let criteria = recursion.order.map { "\($0.column + 1)\($0.isDescending ? " DESC" : "")" }
        return " ORDER BY \(criteria.joined(separator: ", "))"
    }
}
