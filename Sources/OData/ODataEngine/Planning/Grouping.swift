import AdapterKit
import ODataLanguage
import ODataModel

/// Plans `aggregate` and `groupby`.
struct Grouping {
    let applier: ApplyPlanner
    let rows: AppliedRows

    private var reader: ExpressionReader { applier.reader }

    /// One row for each combination of the properties' values; without any, one row.
    func grouped(
        _ properties: [MemberPath], _ aggregates: [AggregateExpression]
    ) throws(QueryProblem) -> AppliedRows {
        let keys = try keys(properties)
        let names = keys.map(\.path) + aggregates.compactMap { $0.name.map { [$0] } }
        guard Set(names).count == names.count else {
            throw QueryProblem("Two values of a group have one name.", at: aggregates.first?.range)
        }
        var (own, apart): ([AppliedRows.Column], [SeparateAggregate]) = ([], [])
        for aggregate in aggregates {
            guard aggregate.name != nil else {
                throw QueryProblem("An aggregate needs a name, with `as`.", at: aggregate.range)
            }
            if let found = try SeparateAggregates(grouping: self, keys: properties).find(aggregate) {
                apart.append(found)
            } else {
                own.append(
                    AppliedRows.Column(
                        path: [aggregate.name ?? ""], typed: try reader.typedAggregate(aggregate, on: rows.scope)))
            }
        }
        let groups = rows.owner + keys.map(\.typed.expression)
        let needsGroups = !groups.isEmpty || own.isEmpty
        let grouped = applier.nested(made(keys + own), groups: needsGroups ? groups : nil)
        let whole = apart.isEmpty ? grouped : beside(grouped, apart, in: names)
        return properties.isEmpty
            ? ofEveryOwner(whole, counts: Set(aggregates.filter(\.isCount).compactMap(\.name))) : whole
    }

    /// An aggregate of nothing is a row too (section 3.2.1), so an owner that nothing is left of has one.
    private func ofEveryOwner(_ grouped: AppliedRows, counts: Set<String>) -> AppliedRows {
        guard let owners = grouped.belonging?.owners else { return grouped }
        let (owner, group, width) = (reader.numbering.next(), reader.numbering.next(), grouped.owner.count)
        let relation = grouped.relation(grouped.owner + grouped.columns.map(\.typed.expression))
        let same = (0..<width).map { RowExpression.same(.output(owner, $0), .output(group, $0)) }
        let columns = grouped.columns.enumerated().map { position, column in
            let value = RowExpression.output(group, width + position)
            let isCount = counts.contains(column.path.joined(separator: "/"))
            return AppliedRows.Column(
                path: column.path, typed: TypedExpression(isCount ? value.orZero : value, column.typed.type))
        }
        var result = AppliedRows(
            source: .rows(owners, as: owner),
            joins: [Join(.left, .rows(relation, as: group), on: .all(same))], content: .columns(columns))
        result.belonging = grouped.belonging?.moved(to: owner)
        return result
    }

    func keys(_ properties: [MemberPath]) throws(QueryProblem) -> [AppliedRows.Column] {
        var columns: [AppliedRows.Column] = []
        for path in properties {
            let typed = try reader.read(Expression(.path(path), path.range), on: rows.scope)
            columns.append(AppliedRows.Column(path: Self.names(path), typed: typed))
        }
        return columns
    }

    private func made(_ columns: [AppliedRows.Column]) -> AppliedRows {
        var made = rows
        made.content = .columns(columns)
        made.computed = []
        made.joined = []
        made.order = []
        made.nested = []
        return made
    }

    /// Each group with what was aggregated apart for the same group, in the order in which all was asked for.
    private func beside(_ grouped: AppliedRows, _ apart: [SeparateAggregate], in order: [[String]]) -> AppliedRows {
        var result = grouped
        let keys = grouped.owner + grouped.columns.prefix(order.count).map(\.typed.expression)
        var columns = grouped.columns
        for aggregate in apart {
            let name = reader.numbering.next()
            let same = (0..<aggregate.keys).map { RowExpression.same(keys[$0], .output(name, $0)) }
            result.joins.append(
                Join(.left, .rows(aggregate.relation, as: name), on: same.isEmpty ? .value(true) : .all(same)))
            columns.append(aggregate.column(.output(name, aggregate.keys)))
        }
        let entities = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        result.content = .columns(columns.sorted { (entities[$0.path] ?? 0) < (entities[$1.path] ?? 0) })
        return result
    }

    static func names(_ path: MemberPath) -> [String] {
        path.segments.compactMap { $0.name }.filter { $0.namespace == nil }.map(\.name)
    }
}

extension AggregateExpression {
    /// Whether it is 0 where there is nothing.
    var isCount: Bool {
        let method = from.last?.method ?? method
        return method == nil || method?.name == "countdistinct"
    }
}

// `groupby`: its elements as sets of properties, and what is done with each group. Data Aggregation 4.0, section 3.2.3.
extension ApplyPlanner {
    func grouped(
        _ rows: AppliedRows, _ elements: [GroupingElement], _ then: [Transformation]
    ) throws(QueryProblem) -> AppliedRows {
        var (spread, rollups) = (rows, [(rollup: RecursiveRollup, around: AppliedRows.Belonging?)]())
        for case .rollupRecursive(let reference, let narrowing) in elements {
            let rollup = try RecursiveRollup(reference, narrowing, self)
            rollups.append((rollup, spread.belonging))
            spread = try rollup.spread(spread)
        }
        var results: [AppliedRows] = []
        for set in try sets(elements) {
            // Without properties a node's rows are transformed as they are.
            let isWhole = set.isEmpty && !rollups.isEmpty && !then.isEmpty
            var result = isWhole ? try apply(then, to: spread) : try grouped(spread, by: set, then)
            for (rollup, around) in rollups.reversed() { result = try rollup.identified(result, around: around) }
            results.append(result)
        }
        return results.count == 1 ? results[0] : try united(results)
    }

    /// Every combination of the levels of each `rollup`, with the properties that stand alone (section 3.2.3.2).
    private func sets(_ elements: [GroupingElement]) throws(QueryProblem) -> [[MemberPath]] {
        var sets: [[MemberPath]] = [[]]
        for element in elements {
            switch element {
            case .property(let path): sets = sets.map { $0 + [path] }
            case .rollup(let written):
                let levels = try levels(written)
                sets = levels.flatMap { level in sets.map { $0 + level } }
            case .rollupRecursive: continue
            }
        }
        return sets
    }

    /// The finest first. `rollup(null,…)` has the grand total too; a single name is that of a leveled hierarchy.
    private func levels(_ written: [MemberPath]) throws(QueryProblem) -> [[MemberPath]] {
        guard written.count == 1, let only = written.first else {
            let hasTotal = written.first.map(Grouping.names) == ["null"]
            let paths = hasTotal ? Array(written.dropFirst()) : written
            return ((hasTotal ? 0 : 1)...paths.count).reversed().map { Array(paths.prefix($0)) }
        }
        let names = Grouping.names(only)
        guard names.count == 1, let type = reader.tables[set]?.type.name,
            let levels = reader.model.leveledHierarchy(names[0], of: type)
        else {
            throw QueryProblem(
                "rollup takes two levels or more, or the name of a leveled hierarchy.", at: only.range)
        }
        let paths = levels.map { level in
            MemberPath(level.map { PathSegment(.name(WrittenName(nil, $0)), only.range) }, only.range)
        }
        return (1...paths.count).reversed().map { Array(paths.prefix($0)) }
    }

    /// `then` is applied to each group: most often an aggregate that makes one row of it, and what may follow one row, which
    /// needs no more than a grouping.
    private func grouped(
        _ rows: AppliedRows, by properties: [MemberPath], _ then: [Transformation]
    ) throws(QueryProblem) -> AppliedRows {
        guard !then.isEmpty else { return try Grouping(applier: self, rows: rows).grouped(properties, []) }
        guard let entity = then.firstIndex(where: \.isAggregate), case .aggregate(let aggregates) = then[entity],
            then[..<entity].allSatisfy(\.keepsRows), then[(entity + 1)...].allSatisfy(\.mayFollowOneRow)
        else { return try GroupsAsOwners(applier: self, properties: properties).grouped(rows, then) }
        let reads = reader.numbering.theseReads
        let prepared = try apply(Array(then[..<entity]), to: rows)
        // `$these` are the rows of a group.
        guard reader.numbering.theseReads == reads else {
            return try GroupsAsOwners(applier: self, properties: properties).grouped(rows, then)
        }
        var result = try Grouping(applier: self, rows: prepared).grouped(properties, aggregates)
        for step in then[(entity + 1)...] { result = try afterAggregate(step, result) }
        return result
    }

    /// A group is one row then: an order leaves it as it is, and so does a `top` that is not 0.
    private func afterAggregate(_ step: Transformation, _ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        switch step {
        case .top(let digits) where Int(digits) == 0: return try apply([step], to: rows)
        case .skip(let digits) where Int(digits) != 0: return try apply([.top("0")], to: rows)
        case .filter, .compute: return try apply([step], to: rows)
        default: return rows
        }
    }
}

extension Transformation {
    fileprivate var isAggregate: Bool {
        if case .aggregate = self { true } else { false }
    }

    /// Whether it keeps every row, and does the same to it in whichever group that is. What leaves rows out may leave
    /// nothing of a group, of which an aggregate is a row all the same.
    fileprivate var keepsRows: Bool {
        switch self {
        case .compute, .identity: true
        default: false
        }
    }

    fileprivate var mayFollowOneRow: Bool {
        switch self {
        case .identity, .orderBy, .filter, .compute, .top, .skip: true
        default: false
        }
    }
}

/// Plans `groupby` with any sequence: the sequence is applied to each group's rows. OData Extension for Data
/// Aggregation 4.0, section 3.2.3.1.
struct GroupsAsOwners {
    let applier: ApplyPlanner
    let properties: [MemberPath]

    func grouped(_ rows: AppliedRows, _ then: [Transformation]) throws(QueryProblem) -> AppliedRows {
        guard !properties.isEmpty else { return try applier.apply(then, to: rows) }
        let keys = try Grouping(applier: applier, rows: rows).keys(properties)
        let other = rows.again(applier.reader)
        let owners = try Grouping(applier: applier, rows: other).keys(properties)
        var groups = other.relation(other.owner + owners.map(\.typed.expression))
        groups.isDistinct = true
        var owned = rows
        owned.belonging = AppliedRows.Belonging(
            values: rows.owner + keys.map(\.typed.expression), owners: groups, nodes: rows.belonging?.nodes ?? [])
        let made = applier.flattened(try applier.settled(try applier.apply(then, to: owned)))
        return identified(made, keys, around: rows.belonging)
    }

    /// The result for each group's rows, with the group's values.
    private func identified(
        _ made: AppliedRows, _ keys: [AppliedRows.Column], around: AppliedRows.Belonging?
    ) -> AppliedRows {
        guard case .columns(let columns) = made.content else { return made }
        let own = zip(keys, made.owner.suffix(keys.count)).map { key, value in
            AppliedRows.Column(path: key.path, typed: TypedExpression(value, key.typed.type))
        }
        var result = made
        result.content = .columns(own + columns.filter { column in !own.contains { $0.path == column.path } })
        result.belonging = around?.identified(by: made.owner.dropLast(keys.count))
        return result
    }
}
