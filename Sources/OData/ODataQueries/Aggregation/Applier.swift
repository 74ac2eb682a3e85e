import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// Carries out `$apply` as nested relations. OData Extension for Data Aggregation 4.0, section 3.
struct Applier {
    let reader: ExpressionReader

    func apply(_ transformations: [Transformation], to rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        var rows = rows
        for transformation in transformations { rows = try apply(transformation, to: rows) }
        return rows
    }

    private func apply(_ transformation: Transformation, to rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        switch transformation {
        case .identity: return rows
        case .filter(let filter):
            var result = settled(rows)
            result.condition = reader.both(result.condition, try reader.condition(filter, on: result.ground))
            return result
        case .search(let search): return try searched(settled(rows), search)
        case .compute(let items): return try computed(rows, items)
        case .orderBy(let items):
            var result = settled(rows)
            result.order = try order(items, on: result.ground)
            return result
        case .top(let digits): return limited(rows, to: Int(digits) ?? Int(Int32.max))
        case .skip(let digits):
            var result = settled(rows)
            result.skip = Int(digits) ?? Int(Int32.max)
            return result
        case .aggregate(let expressions):
            return try Grouping(applier: self, rows: settled(rows)).grouped([], expressions)
        case .groupBy(let elements, let then): return try grouped(settled(rows), elements, then)
        case .concat(let branches): return try concatenated(rows, branches)
        case .ranked(let ranking, let amount, let value): return try ranked(rows, ranking, amount, value)
        case .join(let path, let name, let then, let isOuter):
            return try Joining(applier: self, rows: settled(rows)).joined(path, name, then, isOuter: isOuter)
        case .nest, .addNested, .hierarchy, .custom:
            throw QueryProblem("This transformation of $apply is not supported.", kind: .notSupported)
        }
    }

    func order(_ items: [OrderItem], on ground: Ground) throws(QueryProblem) -> [RowOrder] {
        var order: [RowOrder] = []
        for item in items {
            order.append(
                RowOrder(try reader.read(item.expression, on: ground).expression, descending: item.descending))
        }
        return order
    }

    /// Rows of which a part was taken become a relation of their own before anything else is done to them.
    func settled(_ rows: AppliedRows) -> AppliedRows {
        guard rows.isRestricted else { return rows }
        guard case .entities(let place) = rows.content, rows.joined.isEmpty else { return nested(flattened(rows)) }
        return rows.among(rows.relation([.field(place.source, place.table.keyField)]), reader)
    }

    /// The columns as those of a nested relation.
    func nested(_ rows: AppliedRows, groups: [RowExpression]? = nil) -> AppliedRows {
        let columns = rows.columns
        let name = reader.numbering.next()
        // Without columns, as the last level of a rollup may be, it is one row of nothing.
        let told = columns.isEmpty ? [.aggregate(.count, nil, isDistinct: false)] : columns.map(\.meaning.expression)
        let relation = rows.relation(told, groups: groups)
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, meaning: Meaning(.output(name, position), column.meaning.type))
        }
        var result = AppliedRows(source: .rows(relation, as: name), content: .columns(outputs))
        // As far as it goes by what is told.
        result.order = rows.order.compactMap { order in
            columns.firstIndex { $0.meaning.expression == order.expression }.map {
                RowOrder(.output(name, $0), descending: order.isDescending)
            }
        }
        return result
    }

    private func limited(_ rows: AppliedRows, to count: Int) -> AppliedRows {
        var result = rows.limit == nil ? rows : settled(rows)
        result.limit = min(count, Int(Int32.max))
        return result
    }

    private func searched(_ rows: AppliedRows, _ search: SearchExpression) throws(QueryProblem) -> AppliedRows {
        guard case .entities(let place) = rows.content else {
            throw QueryProblem("Only entities are searched.", kind: .notSupported)
        }
        var result = rows
        let found = RowExpression.found(place.source, try reader.read(search, SourceRange(0, 0)))
        result.condition = reader.both(rows.condition, found)
        return result
    }

    private func computed(_ rows: AppliedRows, _ items: [ComputeItem]) throws(QueryProblem) -> AppliedRows {
        var result = settled(rows)
        for item in items {
            let meaning = try reader.read(item.expression, on: result.ground)
            result.computed.append(AppliedRows.Column(path: [item.name], meaning: meaning))
        }
        return result
    }
}

extension AppliedRows {
    /// Entities stay entities: those whose keys are left, as rows of a source of their own.
    func among(_ keys: Relation, _ reader: ExpressionReader) -> AppliedRows {
        guard case .entities(let place) = content else { return self }
        let outer = EntityPlace(source: reader.numbering.next(), table: place.table, type: place.type)
        var result = AppliedRows(
            source: .records(place.table.entity, as: outer.source),
            condition: .among(.field(outer.source, place.table.keyField), keys), content: .entities(outer))
        result.computed = computed.map { column in
            Column(path: column.path, meaning: column.meaning.moved(from: place.source, to: outer.source))
        }
        result.order = order.map { order in
            RowOrder(order.expression.moved(from: place.source, to: outer.source), descending: order.isDescending)
        }
        return result
    }
}
