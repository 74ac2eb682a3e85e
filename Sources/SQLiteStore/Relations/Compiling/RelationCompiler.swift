import AdapterKit
import RecordStorage

/// From a relation to one `SELECT` with bound parameters.
///
/// Every records source goes through ``source(records:as:)``, which is where row rules come in: whatever a relation
/// looks like, it reads through them.
struct RelationCompiler {
    let catalogue: LayoutCatalogue
    let visible: VisibleRows
    var scope = SourceScope()
    /// The recursion whose step this is.
    var recursion: OpenRecursion?

    /// A statement and the kinds of its columns.
    struct Compiled {
        var fragment: SQLFragment
        let kinds: [RowKind?]
        /// Not nil: the statement finds the rows of one of these, whose key is still to be bound.
        var groups: SoughtGroups?
    }

    /// Throws `request.limitExceeded` and `request.invalid`.
    static func statement(
        _ relation: Relation, _ catalogue: LayoutCatalogue, _ visible: VisibleRows
    ) throws(PorticoError) -> Compiled {
        try RelationLimits.standard.check(relation)
        return try RelationCompiler(catalogue: catalogue, visible: visible).compile(relation, isWhole: true)
    }

    /// `isWhole`: its rows go to the caller, not into another relation. `kinds`: what its columns are to be.
    func compile(
        _ relation: Relation, isWhole: Bool = false, as kinds: [RowKind?]? = nil
    ) throws(PorticoError) -> Compiled {
        guard !relation.columns.isEmpty else {
            throw PorticoError(.requestInvalid, "A relation has at least one column.")
        }
        var compiler = self
        var from = try compiler.add(relation.source)
        for join in relation.joins { from = from + (try compiler.add(join)) }
        return try compiler.select(relation, from: from, isWhole, kinds)
    }

    private func select(
        _ relation: Relation, from: SQLFragment, _ isWhole: Bool, _ kinds: [RowKind?]?
    ) throws(PorticoError) -> Compiled {
        let expressions = ExpressionCompiler(relations: self)
        var columns = try expressions.all(relation.columns)
        if let kinds {
            for (position, kind) in kinds.enumerated() { columns[position] = columns[position].converted(to: kind) }
        }
        let clauses = ClauseCompiler(relation: relation, expressions: expressions)
        let names = columns.enumerated().map { position, column in
            SQLFragment.build("$ AS c\(position)", [isWhole ? column.output : column.fragment])
        }
        if isWhole, let window = relation.window, let groups = try clauses.sought(window, names, from) {
            return Compiled(fragment: groups.statement, kinds: columns.map(\.kind), groups: groups)
        }
        let statement = try clauses.statement(columns: names, from: from)
        return Compiled(fragment: statement, kinds: columns.map(\.kind))
    }
}
