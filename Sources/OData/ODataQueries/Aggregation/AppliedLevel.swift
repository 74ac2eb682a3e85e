import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// The level of a query with `$apply`: the options that follow work on what it made.
struct AppliedLevel {
    let applier: Applier
    let options: CollectedOptions

    private var reader: ExpressionReader { applier.reader }

    func level(
        _ transformations: [Transformation], _ source: RelationSource, _ place: EntityPlace, where base: RowExpression?
    ) throws(QueryProblem) -> LevelPlan {
        try level(
            try rows(transformations, of: AppliedRows(source: source, condition: base, content: .entities(place))))
    }

    /// What the transformations make, and the options behind them.
    func rows(_ transformations: [Transformation], of start: AppliedRows) throws(QueryProblem) -> AppliedRows {
        var rows = try applier.settled(try applier.apply(transformations, to: start))
        if let search = options.search { rows = try applier.searched(rows, search.expression) }
        rows = try applier.computed(rows, options.compute)
        if let filter = options.filter {
            rows.condition = reader.both(rows.condition, try reader.condition(filter, on: rows.ground))
        }
        if !options.order.isEmpty { rows.order = try applier.order(options.order, on: rows.ground) }
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
        case .entities(let place):
            table = place.table
            addProperties(place, &list, selected)
            revision = list.position(of: .revision(place.source), .int64)
            for item in rows.joined where expansions.made?.contains(item.name) ?? false {
                for column in item.columns(applier) {
                    list.add(
                        ResultColumn(column.path, column.meaning.type ?? .string), column.meaning.expression)
                }
                joined[item.name] = list.position(of: item.presence, .string)
            }
            order += rows.tieBreak
        case .columns(let columns):
            // All columns together tell rows apart, as far as they differ.
            order += columns.filter { $0.meaning.type.map { reader.model.kind(of: $0) != .tree } ?? true }
                .map { RowOrder($0.meaning.expression) }
            // A column may be null in one row and absent in another.
            order += columns.compactMap(\.presence).map { RowOrder($0) }
        }
        for column in rows.columns {
            let isVisible = selected?.contains(column.path.joined(separator: "/")) ?? true
            let presence = column.presence.map { list.position(of: $0, .string) }
            list.add(
                ResultColumn(column.path, column.meaning.type ?? .string, isVisible: isVisible, presence: presence),
                column.meaning.expression)
        }
        let nested =
            rows.nested.filter { expansions.made?.contains($0.name) ?? true }.map { $0.plan(&list) }
            + (try expansions.plans(&list))
        if list.columns.isEmpty { _ = list.position(of: .value(.int64(1)), .int64) }
        let orderColumns = order.map { list.position(of: $0.expression, .string) }
        let type: Int? =
            if case .entities(let place) = rows.content, let field = place.table.discriminator {
                list.position(of: .field(place.source, field), .string)
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
            _ = try reader.read(Expression(.path(item.path), item.path.range), on: rows.ground)
            names.insert(name)
        }
        return names
    }

    private func addProperties(_ place: EntityPlace, _ list: inout ColumnList, _ selected: Set<String>?) {
        for type in place.table.family.compactMap({ reader.model.structured($0) }) {
            for property in type.properties where !list.columns.contains(where: { $0.path == [property.name] }) {
                guard let column = place.table.columns[property.name] else { continue }
                list.add(
                    ResultColumn([property.name], property.type, isVisible: selected?.contains(property.name) ?? true),
                    .field(place.source, column.field))
            }
        }
    }
}
