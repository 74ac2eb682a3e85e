import AdapterKit
import ODataLanguage
import ODataModel

/// Plans a level with `$apply`: the other options work on its result.
struct AppliedLevel {
    let applier: ApplyPlanner
    let options: LevelOptions

    private var reader: ExpressionReader { applier.reader }

    func level(
        _ transformations: [Transformation], _ source: RelationSource, _ entity: EntitySource,
        where base: RowExpression?
    ) throws(QueryProblem) -> LevelPlan {
        try level(
            try rows(transformations, of: AppliedRows(source: source, condition: base, content: .entities(entity))))
    }

    /// The rows that the transformations make, and the options behind them.
    func rows(_ transformations: [Transformation], of start: AppliedRows) throws(QueryProblem) -> AppliedRows {
        var rows = try applier.settled(try applier.apply(transformations, to: start))
        if let search = options.search { rows = try applier.searched(rows, search.expression) }
        rows = try applier.computed(rows, options.compute)
        if let filter = options.filter {
            rows.condition = reader.both(rows.condition, try reader.condition(filter, on: rows.scope))
        }
        if !options.order.isEmpty { rows.order = try applier.order(options.order, on: rows.scope) }
        // Entities are columns where there is no one set that the rows are of.
        if case .columns = rows.content, !rows.joined.isEmpty { rows = applier.flattened(rows) }
        return rows
    }

    func level(_ rows: AppliedRows) throws(QueryProblem) -> LevelPlan {
        var list = ColumnList()
        var order = rows.order
        var table: RecordTable?
        var revision: Int?
        let selected = try selection(rows)
        let expansions = try AppliedExpansions(options.expand, of: rows, applier)
        var joined: [String: Int] = [:]
        switch rows.content {
        case .entities(let entity):
            table = entity.table
            addProperties(entity, &list, selected)
            revision = list.position(of: .revision(entity.source), .int64)
            for item in rows.joined where expansions.made?.contains(item.name) ?? false {
                for column in item.columns(applier) {
                    list.add(
                        ResultColumn(column.path, column.typed.type ?? .string), column.typed.expression)
                }
                joined[item.name] = list.position(of: item.presence, .string)
            }
            order += rows.tieBreak
        case .columns(let columns):
            // All columns together order rows that differ.
            order += columns.filter { $0.typed.type.map { reader.model.kind(of: $0) != .tree } ?? true }
                .map { RowOrder($0.typed.expression) }
            // A column may be null in one row and absent in another.
            order += columns.compactMap(\.presence).map { RowOrder($0) }
        }
        for column in rows.columns {
            let isVisible = selected?.contains(column.path.joined(separator: "/")) ?? true
            let presence = column.presence.map { list.position(of: $0, .string) }
            list.add(
                ResultColumn(column.path, column.typed.type ?? .string, isVisible: isVisible, presence: presence),
                column.typed.expression)
        }
        let nested =
            rows.nested.filter { expansions.made?.contains($0.name) ?? true }.map { $0.plan(&list) }
            + (try expansions.plans(&list))
        if list.columns.isEmpty { _ = list.position(of: .value(.int64(1)), .int64) }
        let orderColumns = order.map { list.position(of: $0.expression, .string) }
        let type: Int? =
            if case .entities(let entity) = rows.content, let field = entity.table.discriminator {
                list.position(of: .field(entity.source, field), .string)
            } else { nil }
        let shape = ResultShape(
            table: table, type: table?.type.name, columns: list.columns, expansions: nested.map(\.result),
            revisionColumn: revision,
            typeColumn: type, dynamicColumn: nil, streams: [], isNarrowed: table == nil || selected != nil,
            joined: joined)
        let relation = Relation(
            rows.source, joins: rows.joins, where: rows.condition, columns: list.expressions, order: order)
        let count = Relation(
            rows.source, joins: rows.joins, where: rows.condition, columns: [.aggregate(.count, nil, isDistinct: false)]
        )
        return LevelPlan(
            shape: shape, relation: relation, expansions: nested, count: options.count ? count : nil,
            orderColumns: orderColumns)
    }

    private func selection(_ rows: AppliedRows) throws(QueryProblem) -> Set<String>? {
        guard let items = options.select else { return nil }
        var names: Set<String> = []
        for item in items {
            guard item.options.isEmpty else {
                throw QueryProblem(
                    "Behind $apply, properties are selected without options.", at: item.path.range,
                    kind: .notSupported)
            }
            if case .star? = item.path.segments.first?.form { return nil }
            let name = Grouping.names(item.path).joined(separator: "/")
            _ = try reader.read(Expression(.path(item.path), item.path.range), on: rows.scope)
            names.insert(name)
        }
        return names
    }

    private func addProperties(_ entity: EntitySource, _ list: inout ColumnList, _ selected: Set<String>?) {
        for type in entity.table.family.compactMap({ reader.model.structured($0) }) {
            for property in type.properties where !list.columns.contains(where: { $0.path == [property.name] }) {
                guard let column = entity.table.columns[property.name] else { continue }
                list.add(
                    ResultColumn([property.name], property.type, isVisible: selected?.contains(property.name) ?? true),
                    .field(entity.source, column.field))
            }
        }
    }
}

/// Plans `$expand` on the rows of `$apply`: joined and nested rows, and navigation properties whose key values are
/// still among the columns.
struct AppliedExpansions {
    let applier: ApplyPlanner
    let rows: AppliedRows
    /// The selected joined and nested properties; nil: all (section 3).
    private(set) var made: Set<String>?
    private var others: [ExpandItem] = []

    init(_ items: [ExpandItem], of rows: AppliedRows, _ applier: ApplyPlanner) throws(QueryProblem) {
        (self.applier, self.rows) = (applier, rows)
        guard !items.isEmpty else { return }
        made = []
        for item in items {
            let name = Grouping.names(item.path).joined(separator: "/")
            guard rows.joined.contains(where: { $0.name == name }) || rows.nested.contains(where: { $0.name == name })
            else {
                others.append(item)
                continue
            }
            guard item.options.isEmpty else {
                throw QueryProblem(
                    "What was joined or nested is expanded without options.", at: item.path.range, kind: .notSupported)
            }
            made?.insert(name)
        }
    }

    /// The plans of navigation properties; `list` gets the columns that they are found by.
    func plans(_ list: inout ColumnList) throws(QueryProblem) -> [ExpansionPlan] {
        guard let first = others.first else { return [] }
        let entity = try rows.entities(applier, at: first.path.range)
        let none = try LevelOptions([], limits: applier.limits)
        let outer = try LevelBuilder(applier.reader, none, entity, limits: applier.limits, depth: applier.depth)
        var plans: [ExpansionPlan] = []
        for item in others {
            for written in try ExpansionBuilder.items(item, outer) {
                guard !plans.contains(where: { $0.property == written.navigation.name }) else {
                    throw QueryProblem("\(written.navigation.name) is expanded twice.", at: item.path.range)
                }
                plans.append(try plan(ExpansionBuilder(outer: outer, written: written), entity, &list))
            }
        }
        return plans
    }

    private func plan(
        _ builder: ExpansionBuilder, _ entity: EntitySource, _ list: inout ColumnList
    ) throws(QueryProblem) -> ExpansionPlan {
        var fields = ColumnList()
        var plan = try builder.plan(&fields)
        let identified = try rows.identified(
            plan.near.map { fields.expressions[$0] }, of: entity, at: builder.written.item.path.range)
        plan.near = identified.map { list.position(of: $0, .string) }
        return plan
    }
}

// Rows and the entities that they are, or that they were made of.
extension AppliedRows {
    func entities(_ applier: ApplyPlanner, at range: SourceRange) throws(QueryProblem) -> EntitySource {
        if case .entities(let entity) = content { return entity }
        guard let table = applier.reader.tables[applier.set] else {
            throw QueryProblem("Nothing belongs to these rows.", at: range)
        }
        return EntitySource(source: applier.reader.numbering.next(), table: table, type: table.type.name)
    }

    /// The entities' fields; where the rows are none any more, their columns of the same properties.
    func identified(
        _ fields: [RowExpression], of entity: EntitySource, at range: SourceRange
    ) throws(QueryProblem) -> [RowExpression] {
        guard case .columns(let columns) = content else { return fields }
        let identified = fields.compactMap { field in
            columns.first { column in
                let property = column.path.count == 1 ? entity.table.columns[column.path[0]] : nil
                return property.map { .field(entity.source, $0.field) } == field
            }?.typed.expression
        }
        guard identified.count == fields.count else {
            throw QueryProblem("The rows no longer have what this is found by.", at: range)
        }
        return identified
    }
}
