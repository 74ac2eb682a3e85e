import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// Carries out `$apply` as nested relations. OData Extension for Data Aggregation 4.0, section 3.
struct Applier {
    let reader: ExpressionReader
    let limits: QueryLimits
    /// How many levels are around this one.
    let depth: Int
    /// Whose entities the first rows are.
    let set: String
    /// Where those rows are read, if they belong to others (``OwnedRows``).
    let sources: [SourceName: RowExpression]

    func apply(_ transformations: [Transformation], to rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        var rows = rows
        for transformation in transformations { rows = try apply(transformation, to: rows) }
        return rows
    }

    private func apply(_ transformation: Transformation, to rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        switch transformation {
        case .identity: return rows
        case .filter(let filter):
            var result = try settled(rows)
            result.condition = reader.both(result.condition, try reader.condition(filter, on: result.ground))
            return result
        case .search(let search): return try searched(try settled(rows), search)
        case .compute(let items): return try computed(rows, items)
        case .orderBy(let items):
            var result = try settled(rows)
            result.order = try order(items, on: result.ground)
            return result
        case .top(let digits): return try limited(rows, to: Int(digits) ?? Int(Int32.max))
        case .skip(let digits):
            var result = try settled(rows)
            result.skip = Int(digits) ?? Int(Int32.max)
            return result
        case .aggregate(let expressions):
            return try Grouping(applier: self, rows: try settled(rows)).grouped([], expressions)
        case .groupBy(let elements, let then): return try grouped(try settled(rows), elements, then)
        case .concat(let branches): return try concatenated(rows, branches)
        case .ranked(let ranking, let amount, let value): return try ranked(rows, ranking, amount, value)
        case .join(let path, let name, let then, let isOuter):
            return try Joining(applier: self, rows: try settled(rows)).joined(path, name, then, isOuter: isOuter)
        case .nest(let nested): return try Nesting(applier: self, rows: try settled(rows)).nested(nested)
        case .addNested(let path, let nested):
            return try Nesting(applier: self, rows: try settled(rows)).added(path, nested)
        case .custom(let path): throw custom(path)
        case .hierarchy(let step): return try hierarchical(step, rows)
        }
    }

    func order(_ items: [OrderItem], on ground: ExpressionScope) throws(QueryProblem) -> [RowOrder] {
        var order: [RowOrder] = []
        for item in items {
            order.append(
                RowOrder(try reader.read(item.expression, on: ground).expression, descending: item.descending))
        }
        return order
    }

    /// Rows of which a part was taken become a relation of their own before anything else is done to them.
    func settled(_ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        guard rows.isRestricted else { return rows }
        guard case .entities(let place) = rows.content, rows.joined.isEmpty else { return nested(flattened(rows)) }
        // One entity may belong to several owners, and an order may go by what is joined.
        if rows.belonging != nil || !rows.joins.isEmpty { return rows.carrying([], self).0 }
        return rows.among(rows.relation([.field(place.source, place.table.keyField)]), reader)
    }

    func nested(_ rows: AppliedRows, groups: [RowExpression]? = nil) -> AppliedRows {
        nested(rows, groups: groups, carrying: []).0
    }

    /// The columns as those of a nested relation, behind those that tell the owner; and further ones.
    func nested(
        _ rows: AppliedRows, groups: [RowExpression]? = nil, carrying more: [RowExpression]
    ) -> (AppliedRows, [RowExpression]) {
        let columns = rows.columns
        let (name, owners) = (reader.numbering.next(), rows.owner.count)
        let found = rows.nested.flatMap(\.near)
        // What is grouped is in the order of nothing that is not told.
        let places = groups == nil ? rows.order.map(\.expression) : []
        let carried = columns.compactMap(\.presence) + places + more
        let values = rows.owner + columns.map(\.meaning.expression) + found + carried
        // Without columns, as the last level of a rollup may be, it is one row of nothing.
        let told = values.isEmpty ? [.aggregate(.count, nil, isDistinct: false)] : values
        let relation = rows.relation(told, groups: groups)
        var next = owners + columns.count
        let nested = rows.nested.map { $0.found(in: name, from: &next) }
        func following(_ count: Int) -> [RowExpression] {
            defer { next += count }
            return (0..<count).map { .output(name, next + $0) }
        }
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, meaning: TypedExpression(.output(name, owners + position), column.meaning.type),
                presence: column.presence.flatMap { _ in following(1).first })
        }
        var result = AppliedRows(source: .rows(relation, as: name), content: .columns(outputs))
        result.nested = nested
        result.belonging = rows.belonging?.moved(to: name)
        result.order = zip(rows.order, following(places.count)).map { RowOrder($1, descending: $0.isDescending) }
        return (result, following(more.count))
    }

    private func limited(_ rows: AppliedRows, to count: Int) throws(QueryProblem) -> AppliedRows {
        var result = rows.limit == nil ? rows : try settled(rows)
        result.limit = min(count, Int(Int32.max))
        return result
    }

    func searched(_ rows: AppliedRows, _ search: SearchExpression) throws(QueryProblem) -> AppliedRows {
        guard case .entities(let place) = rows.content else {
            throw QueryProblem("Only entities are searched.", kind: .notSupported)
        }
        var result = rows
        let found = RowExpression.found(place.source, try reader.read(search, SourceRange(0, 0)))
        result.condition = reader.both(rows.condition, found)
        return result
    }

    func computed(_ rows: AppliedRows, _ items: [ComputeItem]) throws(QueryProblem) -> AppliedRows {
        var result = try settled(rows)
        for item in items {
            try checkNew(item, in: result)
            let meaning = try reader.numbering.naming(item.name) { () throws(QueryProblem) in
                try reader.read(item.expression, on: result.ground)
            }
            result.computed.append(AppliedRows.Column(path: [item.name], meaning: meaning))
        }
        return result
    }
}
