import AdapterKit
import RecordStorage

/// From a relation to one `SELECT` with bound parameters.
///
/// Every records source goes through ``source(records:as:)``, which is where row rules come in: whatever a relation
/// looks like, it reads through them.
struct RelationCompiler {
    private let context: Context
    var scope = SourceScope()
    /// The recursion whose step this is.
    var recursion: OpenRecursion?
    /// How often SQLite may copy what reads the sources so far: once for each relation of a union, which it puts in the
    /// union's place (https://www.sqlite.org/optoverview.html, section 11).
    private var copies = 1

    init(_ catalogue: LayoutCatalogue, _ rows: ReadableRows, _ budget: StatementBudget = StatementBudget()) {
        context = Context(catalogue: catalogue, rows: rows, budget: budget)
    }

    /// The same of all compilers of a statement. A class, because each nested relation copies its compiler.
    private final class Context {
        let catalogue: LayoutCatalogue
        let rows: ReadableRows
        let budget: StatementBudget

        init(catalogue: LayoutCatalogue, rows: ReadableRows, budget: StatementBudget) {
            (self.catalogue, self.rows, self.budget) = (catalogue, rows, budget)
        }
    }

    var catalogue: LayoutCatalogue { context.catalogue }
    var budget: StatementBudget { context.budget }

    /// A statement and the kinds of its columns.
    struct Compiled {
        var fragment: SQLFragment
        let kinds: [RowValueType?]
        /// What each column counts where it is named (``StatementBudget/maximumParts``).
        let parts: [Int]
        /// How often SQLite may copy what reads it.
        let copies: Int
        /// Not nil: the statement finds the rows of one of these, whose key is still to be bound.
        var groups: GroupSeek?
    }

    /// Throws `request.limitExceeded` and `request.invalid`.
    static func statement(
        _ relation: Relation, _ catalogue: LayoutCatalogue, _ visible: VisibleRows
    ) throws(PorticoError) -> Compiled {
        try RelationLimits.standard.check(relation)
        let planned = SemijoinPlanner(catalogue: catalogue, adapter: visible.adapter).planned(relation)
        return try RelationCompiler(catalogue, .visible(visible)).compile(planned, isWhole: true)
    }

    /// `isWhole`: its rows go to the caller, not into another relation. `kinds`: what its columns are to be.
    func compile(
        _ relation: Relation, isWhole: Bool = false, as kinds: [RowValueType?]? = nil
    ) throws(PorticoError) -> Compiled {
        guard !relation.columns.isEmpty else {
            throw PorticoError(.requestInvalid, "A relation has at least one column.")
        }
        var compiler = self
        compiler.copies = 1
        var from = try compiler.add(relation.source)
        for join in relation.joins { from = from + (try compiler.add(join)) }
        let before = budget.parts
        let compiled = try compiler.select(relation, from: from, isWhole, kinds)
        try budget.count(since: before, copies: compiler.copies)
        try budget.charge(compiled.fragment)
        return compiled
    }

    private func select(
        _ relation: Relation, from: SQLFragment, _ isWhole: Bool, _ kinds: [RowValueType?]?
    ) throws(PorticoError) -> Compiled {
        let expressions = ExpressionCompiler(relations: self)
        var (columns, parts): ([TypedSQL], [Int]) = ([], [])
        for column in relation.columns {
            let counted = try expressions.counted { () throws(PorticoError) in try expressions.value(column) }
            columns.append(counted.typed)
            parts.append(counted.parts)
        }
        if let kinds {
            guard kinds.count == columns.count else {
                throw PorticoError(.requestInvalid, "The rows of a recursion have as many columns as it begins with.")
            }
            for (position, kind) in kinds.enumerated() { columns[position] = columns[position].converted(to: kind) }
        }
        let clauses = try ClauseCompiler(relation: relation, expressions: expressions)
        let names = columns.enumerated().map { position, column in
            SQLFragment.build("$ AS c\(position)", [isWhole ? column.output : column.fragment])
        }
        if isWhole, let window = relation.window, let groups = try clauses.sought(window, names, from) {
            return Compiled(
                fragment: groups.statement, kinds: columns.map(\.kind), parts: parts, copies: copies, groups: groups)
        }
        let statement = try clauses.statement(columns: names, from: from)
        return Compiled(fragment: statement, kinds: columns.map(\.kind), parts: parts, copies: copies)
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
        // An entity that the asker has not is the asker's mistake.
        let rule = try context.rows.filter(of: entity)
        let layout = try catalogue.layout(CollectionID(context.rows.adapter, entity))
        try scope.add(name, .records(layout), isOptional: isOptional)
        guard let rule else { return SQLFragment("\(layout.table) AS \(name.sql)") }
        let condition = try RecordCompiler(layout, catalogue, budget).condition(rule)
        return .build("(SELECT * FROM \(RecordCompiler.source(layout)) WHERE $) AS \(name.sql)", [condition])
    }

    private mutating func derived(_ source: RelationSource, isOptional: Bool) throws(PorticoError) -> SQLFragment {
        switch source {
        case .rows(let relation, let name):
            let nested = try compile(relation)
            copy(for: nested)
            try scope.add(name, .rows(nested.outputs), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .union(let relations, let name):
            let nested = try union(relations)
            copy(for: nested)
            try scope.add(name, .rows(nested.outputs), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .recursion(let recursion, let name):
            let nested = try compile(recursion, as: name)
            try scope.add(name, .rows(nested.outputs), isOptional: isOptional)
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
        let statements = compiled.map { part in
            part.fits(kinds) ? .build("SELECT * FROM ($)", [part.fragment]) : part.converted(to: kinds)
        }
        let parts = kinds.indices.map { column in compiled.map { $0.parts[column] }.max() ?? 1 }
        // Cannot trap: at most so many relations, each with at most so many copies.
        let copies = min(compiled.reduce(0) { $0 + $1.copies }, StatementBudget.maximumParts)
        return Compiled(
            fragment: .list(statements, separator: " UNION ALL "), kinds: kinds, parts: parts, copies: copies)
    }

    /// Beyond the limit each further copy is as much too much.
    private mutating func copy(for nested: Compiled) {
        // Cannot trap: both are below the limit.
        copies = min(copies * nested.copies, StatementBudget.maximumParts)
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

extension RelationCompiler {
    /// A column of a nested relation.
    struct Output {
        let kind: RowValueType?
        /// What it counts where it is named.
        let parts: Int
    }
}

// What is read of a compiled relation.
extension RelationCompiler.Compiled {
    var outputs: [RelationCompiler.Output] { zip(kinds, parts).map { .init(kind: $0, parts: $1) } }

    /// Whether its columns are of these kinds already.
    func fits(_ wanted: [RowValueType?]) -> Bool { zip(kinds, wanted).allSatisfy { $0 == nil || $0 == $1 } }

    /// Its rows with numbers of these kinds. Around the statement: compiling it once more for other kinds would take twice
    /// as long with each level of relations within each other.
    func converted(to wanted: [RowValueType?]) -> SQLFragment {
        if fits(wanted) { return fragment }
        let columns = zip(kinds, wanted).enumerated().map { column, pair in
            SQLFragment.build("$ AS c\(column)", [TypedSQL("c\(column)", pair.0).converted(to: pair.1).fragment])
        }
        return SQLFragment("SELECT ") + .list(columns) + .build(" FROM ($)", [fragment])
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
        // SQLite keeps the rows that a recursion finds, so its columns are what they are.
        return Compiled(
            fragment: .build(sql, [start.fragment, step.fragment]), kinds: kinds, parts: kinds.map { _ in 1 },
            copies: 1)
    }

    /// A step reads the rows found by the table's name, once.
    mutating func found(as name: SourceName) throws(PorticoError) -> SQLFragment {
        guard let open = recursion else {
            throw PorticoError(.requestInvalid, "There is no recursion whose rows could be gone on from.")
        }
        recursion = nil
        try scope.add(name, .rows(open.kinds.map { Output(kind: $0, parts: 1) }), isOptional: false)
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
        /// A nested relation's columns.
        case rows([RelationCompiler.Output])
        /// The list whose elements it goes through; the source itself gives their positions.
        case elements(TypedSQL)
    }

    /// Few, so that looking through them is the fastest way to one.
    private var sources: [(name: SourceName, source: Source, isOptional: Bool)] = []

    /// `isOptional`: its rows may be nulls in place of a row that is not there. Throws `request.invalid` where the name is
    /// taken.
    mutating func add(_ name: SourceName, _ source: Source, isOptional: Bool) throws(PorticoError) {
        guard self.source(name) == nil else {
            throw PorticoError(.requestInvalid, "Two sources of a relation have one name.")
        }
        sources.append((name, source, isOptional))
    }

    private func source(_ name: SourceName) -> Source? {
        for entry in sources where entry.name == name { return entry.source }
        return nil
    }

    func layout(_ name: SourceName) throws(PorticoError) -> CollectionLayout {
        guard case .records(let layout)? = source(name) else { throw Self.unknown }
        return layout
    }

    func isMandatory(_ name: SourceName) -> Bool { !sources.contains { $0.name == name && $0.isOptional } }

    func output(_ column: Int, of name: SourceName) throws(PorticoError) -> RelationCompiler.Output {
        guard case .rows(let outputs)? = source(name), outputs.indices.contains(column) else { throw Self.unknown }
        return outputs[column]
    }

    func list(_ name: SourceName) throws(PorticoError) -> TypedSQL {
        guard case .elements(let list)? = source(name) else { throw Self.unknown }
        return list
    }

    private static var unknown: PorticoError {
        PorticoError(.requestInvalid, "An expression names a source that is not there.")
    }
}

/// Which of the records that are there a statement reads.
enum ReadableRows {
    case visible(VisibleRows)
    /// All of an adapter's.
    case every(AdapterName)

    var adapter: AdapterName {
        switch self {
        case .visible(let rows): rows.adapter
        case .every(let adapter): adapter
        }
    }

    /// Nil: every row. Throws as ``VisibleRows/filter(of:)`` does.
    func filter(of entity: EntityName) throws(PorticoError) -> Filter? {
        if case .visible(let rows) = self { try rows.filter(of: entity) } else { nil }
    }
}

extension SourceName {
    /// As it is called in a statement.
    var sql: String { "t\(number)" }
}
