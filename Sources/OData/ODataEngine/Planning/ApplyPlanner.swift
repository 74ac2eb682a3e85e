import AdapterKit
import ODataLanguage
import ODataModel

/// Plans `$apply` as nested relations. OData Extension for Data Aggregation 4.0, section 3.
struct ApplyPlanner {
    let reader: ExpressionReader
    let limits: QueryLimits
    /// The number of levels around this one.
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
            result.condition = reader.both(result.condition, try reader.condition(filter, on: result.scope))
            return result
        case .search(let search): return try searched(try settled(rows), search)
        case .compute(let items): return try computed(rows, items)
        case .orderBy(let items):
            var result = try settled(rows)
            result.order = try order(items, on: result.scope)
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
            return try JoinTransformation(applier: self, rows: try settled(rows)).joined(
                path, name, then, isOuter: isOuter)
        case .nest(let nested): return try NestTransformation(applier: self, rows: try settled(rows)).nested(nested)
        case .addNested(let path, let nested):
            return try NestTransformation(applier: self, rows: try settled(rows)).added(path, nested)
        case .custom(let path): throw custom(path)
        case .hierarchy(let step): return try hierarchical(step, rows)
        }
    }

    func order(_ items: [OrderItem], on scope: ExpressionScope) throws(QueryProblem) -> [RowOrder] {
        var order: [RowOrder] = []
        for item in items {
            order.append(
                RowOrder(try reader.read(item.expression, on: scope).expression, descending: item.descending))
        }
        return order
    }

    /// Rows of which a part was taken become a relation of their own before anything else is done to them.
    func settled(_ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        guard rows.isRestricted else { return rows }
        guard case .entities(let entity) = rows.content, rows.joined.isEmpty else { return nested(flattened(rows)) }
        // One entity may belong to several owners, and an order may go by what is joined.
        if rows.belonging != nil || !rows.joins.isEmpty { return rows.carrying([], self).0 }
        return rows.among(rows.relation([.field(entity.source, entity.table.keyField)]), reader)
    }

    func nested(_ rows: AppliedRows, groups: [RowExpression]? = nil) -> AppliedRows {
        nested(rows, groups: groups, carrying: []).0
    }

    /// The columns as those of a nested relation, behind the owner's; and further ones.
    func nested(
        _ rows: AppliedRows, groups: [RowExpression]? = nil, carrying more: [RowExpression]
    ) -> (AppliedRows, [RowExpression]) {
        let columns = rows.columns
        let (name, owners) = (reader.numbering.next(), rows.owner.count)
        let found = rows.nested.flatMap(\.near)
        // Grouped rows are ordered only by their columns.
        let entities = groups == nil ? rows.order.map(\.expression) : []
        let carried = columns.compactMap(\.presence) + entities + more
        let values = rows.owner + columns.map(\.typed.expression) + found + carried
        // Without columns, as the last level of a rollup may be, it is one row of nothing.
        let identified = values.isEmpty ? [.aggregate(.count, nil, isDistinct: false)] : values
        let relation = rows.relation(identified, groups: groups)
        var next = owners + columns.count
        let nested = rows.nested.map { $0.found(in: name, from: &next) }
        func following(_ count: Int) -> [RowExpression] {
            defer { next += count }
            return (0..<count).map { .output(name, next + $0) }
        }
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, typed: TypedExpression(.output(name, owners + position), column.typed.type),
                presence: column.presence.flatMap { _ in following(1).first })
        }
        var result = AppliedRows(source: .rows(relation, as: name), content: .columns(outputs))
        result.nested = nested
        result.belonging = rows.belonging?.moved(to: name)
        result.order = zip(rows.order, following(entities.count)).map { RowOrder($1, descending: $0.isDescending) }
        return (result, following(more.count))
    }

    private func limited(_ rows: AppliedRows, to count: Int) throws(QueryProblem) -> AppliedRows {
        var result = rows.limit == nil ? rows : try settled(rows)
        result.limit = min(count, Int(Int32.max))
        return result
    }

    func searched(_ rows: AppliedRows, _ search: SearchExpression) throws(QueryProblem) -> AppliedRows {
        guard case .entities(let entity) = rows.content else {
            throw QueryProblem("Only entities are searched.", kind: .notSupported)
        }
        var result = rows
        let found = RowExpression.found(entity.source, try reader.read(search, SourceRange(0, 0)))
        result.condition = reader.both(rows.condition, found)
        return result
    }

    func computed(_ rows: AppliedRows, _ items: [ComputeItem]) throws(QueryProblem) -> AppliedRows {
        var result = try settled(rows)
        for item in items {
            try checkNew(item, in: result)
            let typed = try reader.numbering.naming(item.name) { () throws(QueryProblem) in
                try reader.read(item.expression, on: result.scope)
            }
            result.computed.append(AppliedRows.Column(path: [item.name], typed: typed))
        }
        return result
    }
}

extension ApplyPlanner {
    /// Checks that what is computed has a name that nothing else has (Data Aggregation 4.0, section 3.4.2).
    func checkNew(_ item: ComputeItem, in rows: AppliedRows) throws(QueryProblem) {
        var isTaken =
            rows.columns.contains { $0.path.first == item.name } || rows.nested.contains { $0.name == item.name }
        if case .entities(let entity) = rows.content {
            let type = reader.model.structured(entity.type)
            isTaken = isTaken || type?.property(item.name) != nil || type?.navigation(item.name) != nil
        }
        if isTaken { throw QueryProblem("There is a property \(item.name) already.", at: item.nameRange) }
    }
}

// `topcount`, `topsum`, `toppercent` and their opposites. Data Aggregation 4.0, section 3.3.
extension ApplyPlanner {
    func ranked(
        _ rows: AppliedRows, _ ranking: Transformation.Ranking, _ amount: Expression, _ value: Expression
    ) throws(QueryProblem) -> AppliedRows {
        var result = try settled(rows)
        if !result.joined.isEmpty { result = flattened(result) }
        let number = try self.amount(amount, of: ranking, on: result.scope)
        let measure = try reader.read(value, on: result.scope)
        guard let type = measure.type, reader.model.family(of: type) == .number else {
            throw QueryProblem("A number is expected.", at: value.range)
        }
        let isTop = [.topcount, .topsum, .toppercent].contains(ranking)
        result.order = [RowOrder(measure.expression, descending: isTop)] + result.tieBreak
        switch ranking {
        case .topcount, .bottomcount:
            guard let count = number.int64Value else {
                throw QueryProblem("A whole number is expected.", at: amount.range)
            }
            result.limit = Int(min(count, Int64(Int32.max)))
            return try settled(result)
        case .topsum, .bottomsum: return cut(result, measure.expression) { _ in .call(.toDouble, [.value(number)]) }
        case .toppercent, .bottompercent:
            let share = RowExpression.arithmetic(.divide, .call(.toDouble, [.value(number)]), .value(.double(100)))
            return cut(result, measure.expression) { all in .arithmetic(.multiply, all, share) }
        }
    }

    /// A sum may be nothing; counts and shares are positive.
    private func amount(
        _ amount: Expression, of ranking: Transformation.Ranking, on scope: ExpressionScope
    ) throws(QueryProblem) -> WireValue {
        let wanted = try reader.read(amount, on: scope)
        let isSum = ranking == .topsum || ranking == .bottomsum
        guard case .value(let number) = wanted.expression, let decimal = number.decimalValue, !decimal.isNegative,
            isSum || !decimal.isZero
        else { throw QueryProblem("A \(isSum ? "sum" : "positive number") is expected.", at: amount.range) }
        return number
    }

    /// The first rows in order that together reach the sum, of each owner's: those before which it is not reached.
    /// `limit`: the sum to be reached, from that of all.
    private func cut(
        _ rows: AppliedRows, _ measure: RowExpression, at limit: (RowExpression) -> RowExpression
    ) -> AppliedRows {
        let sums: [RowExpression] = [
            .sumBefore(measure, by: rows.owner, order: rows.order), .sumWithin(measure, by: rows.owner),
        ]
        var (result, found) = rows.carrying(sums, self)
        result.condition = .compare(.less, found[0], limit(found[1]))
        return result
    }
}

extension ApplyPlanner {
    /// A function as a transformation (Data Aggregation 4.0, section 3.6): one that the model has is not carried out, any
    /// other is a mistake.
    func custom(_ path: MemberPath) -> QueryProblem {
        guard let name = path.segments.first?.name, let namespace = name.namespace else {
            return QueryProblem("A transformation is expected here.", at: path.range)
        }
        let model = reader.model
        let function = model.resolve(QualifiedName(namespace, name.name))
        guard model.operations[function] != nil else {
            return QueryProblem("There is no transformation \(namespace).\(name.name).", at: path.range)
        }
        return QueryProblem("Functions as transformations are not supported.", at: path.range, kind: .notSupported)
    }
}

// `concat`: rows of several origins as one relation. Data Aggregation 4.0, section 3.2.4.
extension ApplyPlanner {
    /// Uniting costs the square of the parts, before the statement's own limits are looked at.
    private static let maximumBranches = 256

    func concatenated(_ rows: AppliedRows, _ branches: [[Transformation]]) throws(QueryProblem) -> AppliedRows {
        guard branches.count <= Self.maximumBranches else {
            throw QueryProblem("concat has at most \(Self.maximumBranches) parts.", kind: .limitExceeded)
        }
        var results: [AppliedRows] = []
        for branch in branches {
            results.append(flattened(try settled(try apply(branch, to: rows))))
        }
        return try united(results, inOrder: true)
    }

    /// Entities as the columns of their properties: in a concat one may come twice.
    func flattened(_ rows: AppliedRows) -> AppliedRows {
        let own: [AppliedRows.Column]
        switch rows.content {
        case .entities(let entity): own = properties(of: entity)
        case .columns(let columns): own = columns
        }
        var result = rows
        result.content = .columns(own + rows.joined.flatMap { $0.columns(self) })
        result.joined = []
        return result
    }

    func properties(of entity: EntitySource, below path: [String] = []) -> [AppliedRows.Column] {
        (reader.model.structured(entity.type)?.properties ?? []).compactMap { property in
            entity.table.columns[property.name].map { column in
                AppliedRows.Column(
                    path: path + [property.name],
                    typed: TypedExpression(.field(entity.source, column.field), property.type))
            }
        }
    }

    /// All rows, each with the columns of its part alone. `inOrder`: one part after the other, each in its own order.
    func united(_ parts: [AppliedRows], inOrder: Bool = false) throws(QueryProblem) -> AppliedRows {
        var columns: [AppliedRows.Column] = []
        for column in parts.flatMap(\.columns) where !columns.contains(where: { $0.path == column.path }) {
            columns.append(column)
        }
        let nested = try collections(of: parts)
        let presences = columns.map { Presence(of: $0.path, in: parts) }
        let entities = inOrder ? entities(parts) : []
        let relations = parts.enumerated().map { number, part in
            let own = part.columns
            let values = columns.map { column in own.first { $0.path == column.path }?.typed.expression }
            let identified = part.owner + (values + nested.flatMap(part.near)).map { $0 ?? .value(.null) }
            return part.relation(
                identified + presences.compactMap { $0.identified(number) } + entities.map { $0[number] })
        }
        let (name, owners) = (reader.numbering.next(), parts[0].owner.count)
        var next = owners + columns.count
        let found = nested.map { $0.found(in: name, from: &next) }
        let outputs = columns.enumerated().map { position, column in
            var output = AppliedRows.Column(
                path: column.path, typed: TypedExpression(.output(name, owners + position), column.typed.type))
            if !presences[position].isEverywhere {
                output.presence = .output(name, next)
                next += 1
            }
            return output
        }
        var result = AppliedRows(source: .union(relations, as: name), content: .columns(outputs))
        result.nested = found
        result.order = entities.indices.map { RowOrder(.output(name, next + $0)) }
        result.belonging = parts[0].belonging?.moved(to: name)
        return result
    }

    /// The part that a row is of, and its place within it where one of the parts has an order.
    private func entities(_ parts: [AppliedRows]) -> [[RowExpression]] {
        let numbers = parts.indices.map { RowExpression.value(.int64(Int64($0))) }
        guard parts.contains(where: { !$0.order.isEmpty }) else { return [numbers] }
        let entities = parts.map { part in
            part.order.isEmpty
                ? RowExpression.value(.null)
                : .sumBefore(.value(.int64(1)), by: part.owner, order: part.order + part.tieBreak)
        }
        return [numbers, entities]
    }

    /// The collections that one of the parts has, each once. Throws where several that are not the same have one name.
    private func collections(of parts: [AppliedRows]) throws(QueryProblem) -> [NestedRows] {
        var all: [NestedRows] = []
        for nested in parts.flatMap(\.nested) where !all.contains(where: { $0.number == nested.number }) {
            guard !all.contains(where: { $0.name == nested.name }) else {
                throw QueryProblem("Two parts of concat have different collections \(nested.name).")
            }
            all.append(nested)
        }
        return all
    }
}

extension AppliedRows {
    /// The values by which its rows find the collection's; nils where they have none.
    fileprivate func near(_ collection: NestedRows) -> [RowExpression?] {
        nested.first { $0.number == collection.number }?.near ?? collection.near.map { _ in nil }
    }
}

/// In which of several parts there is a column.
private struct Presence {
    private let inParts: [RowExpression]

    init(of path: [String], in parts: [AppliedRows]) {
        inParts = parts.map { part in
            let column = part.columns.first { $0.path == path }
            return column.map { $0.presence ?? .value(.bool(true)) } ?? .value(.bool(false))
        }
    }

    var isEverywhere: Bool { inParts.allSatisfy { $0 == .value(.bool(true)) } }

    /// In that part; nil where it is in every part's rows.
    func identified(_ part: Int) -> RowExpression? { isEverywhere ? nil : inParts[part] }
}
