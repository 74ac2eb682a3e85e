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
        let kinds: [RowValueType?]
        /// Not nil: the statement finds the rows of one of these, whose key is still to be bound.
        var groups: GroupSeek?
    }

    /// Throws `request.limitExceeded` and `request.invalid`.
    static func statement(
        _ relation: Relation, _ catalogue: LayoutCatalogue, _ visible: VisibleRows
    ) throws(PorticoError) -> Compiled {
        try RelationLimits.standard.check(relation)
        let planned = SemijoinPlanner(catalogue: catalogue, adapter: visible.adapter).planned(relation)
        return try RelationCompiler(catalogue: catalogue, visible: visible).compile(planned, isWhole: true)
    }

    /// `isWhole`: its rows go to the caller, not into another relation. `kinds`: what its columns are to be.
    func compile(
        _ relation: Relation, isWhole: Bool = false, as kinds: [RowValueType?]? = nil
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
        _ relation: Relation, from: SQLFragment, _ isWhole: Bool, _ kinds: [RowValueType?]?
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

// Where rows come from.
extension RelationCompiler {
    /// The `FROM` clause of a first source, which expressions may name from now on.
    mutating func add(_ source: RelationSource) throws(PorticoError) -> SQLFragment {
        switch source {
        case .one: return SQLFragment()
        case .records(let entity, let name):
            return SQLFragment(" FROM ") + (try self.source(records: entity, as: name, isOptional: false))
        case .rows, .union, .recursion, .elements:
            return SQLFragment(" FROM ") + (try derived(source, isOptional: false))
        case .found(let name): return SQLFragment(" FROM ") + (try found(as: name))
        }
    }

    mutating func add(_ join: Join) throws(PorticoError) -> SQLFragment {
        let source: SQLFragment
        let isOptional = join.kind == .left
        switch join.source {
        case .one, .found: throw PorticoError(.requestInvalid, "A row of nothing or found before cannot be joined.")
        case .records(let entity, let name): source = try self.source(records: entity, as: name, isOptional: isOptional)
        case .rows, .union, .recursion, .elements: source = try derived(join.source, isOptional: isOptional)
        }
        let condition = try ExpressionCompiler(relations: self).condition(join.condition)
        return .build("\(isOptional ? " LEFT JOIN " : " JOIN ")$ ON $", [source, condition])
    }

    /// The records that the asker may see. The only way by which a statement reads an entity's table.
    private mutating func source(
        records entity: EntityName, as name: SourceName, isOptional: Bool
    ) throws(PorticoError) -> SQLFragment {
        let layout = try catalogue.layout(CollectionID(visible.adapter, entity))
        let rule = try visible.filter(of: entity)
        try scope.add(name, .records(layout), isOptional: isOptional)
        guard let rule else { return SQLFragment("\(layout.table) AS \(name.sql)") }
        let condition = try FilterCompiler(catalogue: catalogue).condition(rule, in: layout)
        return .build("(SELECT * FROM \(layout.table) WHERE $) AS \(name.sql)", [condition])
    }

    private mutating func derived(_ source: RelationSource, isOptional: Bool) throws(PorticoError) -> SQLFragment {
        switch source {
        case .rows(let relation, let name):
            let nested = try compile(relation)
            try scope.add(name, .rows(nested.kinds), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .union(let relations, let name):
            let nested = try union(relations)
            try scope.add(name, .rows(nested.kinds), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .recursion(let recursion, let name):
            let nested = try compile(recursion, as: name)
            try scope.add(name, .rows(nested.kinds), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .elements(let list, let name):
            let compiled = try ExpressionCompiler(relations: self).value(list)
            try scope.add(name, .elements(compiled), isOptional: isOptional)
            return .build("json_each(portico_positions($)) AS \(name.sql)", [compiled.fragment])
        case .records, .found, .one: return SQLFragment()
        }
    }

    /// Columns of different kinds of numbers meet in the wider one.
    private func union(_ relations: [Relation]) throws(PorticoError) -> Compiled {
        guard let first = relations.first else {
            throw PorticoError(.requestInvalid, "A union has at least one relation.")
        }
        var compiled = [try compile(first)]
        for relation in relations.dropFirst() { compiled.append(try compile(relation)) }
        var kinds = compiled[0].kinds
        for other in compiled.dropFirst() { kinds = try Self.common(kinds, other.kinds) }
        var parts: [SQLFragment] = []
        for (relation, own) in zip(relations, compiled) {
            // Once more only where numbers widen, or unions within unions would take time without end.
            let fits = zip(own.kinds, kinds).allSatisfy { $0 == nil || $0 == $1 }
            let fragment = fits ? own.fragment : try compile(relation, as: kinds).fragment
            parts.append(.build("SELECT * FROM ($)", [fragment]))
        }
        return Compiled(fragment: .list(parts, separator: " UNION ALL "), kinds: kinds)
    }

    static func common(_ left: [RowValueType?], _ right: [RowValueType?]) throws(PorticoError) -> [RowValueType?] {
        guard left.count == right.count else {
            throw PorticoError(.requestInvalid, "The relations of a union have equally many columns.")
        }
        var result: [RowValueType?] = []
        for (a, b) in zip(left, right) {
            guard let kind = RowValueType.common(a, b) else {
                throw PorticoError(.requestInvalid, "The columns of a union are of one kind.")
            }
            result.append(kind)
        }
        return result
    }
}

/// A recursion while its step is compiled: what its rows are called, and of which kinds they are.
struct OpenRecursion {
    let table: String
    let kinds: [RowValueType?]
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

/// The sources that an expression may name, with what is known of each.
struct SourceScope {
    enum Source {
        case records(CollectionLayout)
        /// The kinds of a nested relation's columns.
        case rows([RowValueType?])
        /// The list whose elements it goes through; the source itself gives their positions.
        case elements(TypedSQL)
    }

    private var sources: [SourceName: Source] = [:]
    /// Those whose rows may be nulls in place of a row that is not there.
    private var optional: Set<SourceName> = []

    /// Throws `request.invalid` where the name is taken.
    mutating func add(_ name: SourceName, _ source: Source, isOptional: Bool) throws(PorticoError) {
        if isOptional { optional.insert(name) }
        guard sources.updateValue(source, forKey: name) == nil else {
            throw PorticoError(.requestInvalid, "Two sources of a relation have one name.")
        }
    }

    func layout(_ name: SourceName) throws(PorticoError) -> CollectionLayout {
        guard case .records(let layout)? = sources[name] else { throw Self.unknown }
        return layout
    }

    func isMandatory(_ name: SourceName) -> Bool { !optional.contains(name) }

    func kind(of column: Int, in name: SourceName) throws(PorticoError) -> RowValueType? {
        guard case .rows(let kinds)? = sources[name], kinds.indices.contains(column) else { throw Self.unknown }
        return kinds[column]
    }

    func list(_ name: SourceName) throws(PorticoError) -> TypedSQL {
        guard case .elements(let list)? = sources[name] else { throw Self.unknown }
        return list
    }

    private static var unknown: PorticoError {
        PorticoError(.requestInvalid, "An expression names a source that is not there.")
    }
}

extension SourceName {
    /// As it is called in a statement.
    var sql: String { "t\(number)" }
}
