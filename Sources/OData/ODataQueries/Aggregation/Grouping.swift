import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `aggregate` and `groupby`.
struct Grouping {
    let applier: Applier
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
        var (own, apart): ([AppliedRows.Column], [ApartAggregate]) = ([], [])
        for aggregate in aggregates {
            guard aggregate.name != nil else {
                throw QueryProblem("An aggregate needs a name, with `as`.", at: aggregate.range)
            }
            if let found = try ApartAggregates(grouping: self, keys: properties).find(aggregate) {
                apart.append(found)
            } else {
                own.append(try column(aggregate))
            }
        }
        let groups = rows.owner + keys.map(\.meaning.expression)
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
        let relation = grouped.relation(grouped.owner + grouped.columns.map(\.meaning.expression))
        let same = (0..<width).map { RowExpression.same(.output(owner, $0), .output(group, $0)) }
        let columns = grouped.columns.enumerated().map { position, column in
            let value = RowExpression.output(group, width + position)
            let isCount = counts.contains(column.path.joined(separator: "/"))
            return AppliedRows.Column(
                path: column.path, meaning: Meaning(isCount ? value.orZero : value, column.meaning.type))
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
            let meaning = try reader.read(Expression(.path(path), path.range), on: rows.ground)
            columns.append(AppliedRows.Column(path: Self.names(path), meaning: meaning))
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
    private func beside(_ grouped: AppliedRows, _ apart: [ApartAggregate], in order: [[String]]) -> AppliedRows {
        var result = grouped
        let keys = grouped.owner + grouped.columns.prefix(order.count).map(\.meaning.expression)
        var columns = grouped.columns
        for aggregate in apart {
            let name = reader.numbering.next()
            let same = (0..<aggregate.keys).map { RowExpression.same(keys[$0], .output(name, $0)) }
            result.joins.append(
                Join(.left, .rows(aggregate.relation, as: name), on: same.isEmpty ? .value(true) : .all(same)))
            columns.append(aggregate.column(.output(name, aggregate.keys)))
        }
        let places = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        result.content = .columns(columns.sorted { (places[$0.path] ?? 0) < (places[$1.path] ?? 0) })
        return result
    }

    static func names(_ path: MemberPath) -> [String] {
        path.segments.compactMap { $0.name }.filter { $0.namespace == nil }.map(\.name)
    }

    private func column(_ aggregate: AggregateExpression) throws(QueryProblem) -> AppliedRows.Column {
        let name = aggregate.name ?? ""
        if case .path(let path) = aggregate.value.form, path.segments.count == 1,
            case .count? = path.segments.first?.form
        {
            return AppliedRows.Column(
                path: [name], meaning: Meaning(.aggregate(.count, nil, isDistinct: false), .int64))
        }
        let value = try reader.read(aggregate.value, on: rows.ground)
        if aggregate.method == nil, case .path(let path) = aggregate.value.form, case .count? = path.segments.last?.form
        {
            return AppliedRows.Column(
                path: [name], meaning: Meaning(.aggregate(.sum, value.expression, isDistinct: false), .int64))
        }
        guard let method = aggregate.method else {
            throw QueryProblem("An aggregate needs a method, with `with`.", at: aggregate.range)
        }
        return AppliedRows.Column(path: [name], meaning: try self.value(method, value, aggregate.range))
    }

    func value(
        _ method: WrittenName, _ value: Meaning, _ range: SourceRange
    ) throws(QueryProblem) -> Meaning {
        let type = value.type ?? .decimal
        let kind = reader.model.kind(of: type)
        func aggregate(_ aggregate: RowExpression.Aggregate, _ type: TypeReference) -> Meaning {
            Meaning(.aggregate(aggregate, value.expression, isDistinct: false), type)
        }
        let isNumber = [.number, .duration].contains(reader.model.family(of: type))
        switch method.description {
        case "sum" where isNumber: return aggregate(.sum, kind == .integer ? .int64 : type)
        case "average" where isNumber: return aggregate(.average, kind == .integer ? .double : type)
        case "min" where kind != .tree: return aggregate(.minimum, type)
        case "max" where kind != .tree: return aggregate(.maximum, type)
        case "countdistinct":
            return Meaning(.aggregate(.count, value.expression, isDistinct: true), .int64)
        case "sum", "average", "min", "max":
            throw QueryProblem("Values of the type \(type) have no \(method).", at: range)
        default:
            // Methods of their own have a namespace.
            throw QueryProblem(
                "There is no aggregation method \(method).", at: range,
                kind: method.namespace == nil ? .invalid : .notSupported)
        }
    }
}

extension AggregateExpression {
    /// Whether it is 0 where there is nothing.
    var isCount: Bool {
        let method = from.last?.method ?? method
        return method == nil || method?.name == "countdistinct"
    }
}

extension Applier {
    func grouped(
        _ rows: AppliedRows, _ elements: [GroupingElement], _ then: [Transformation]
    ) throws(QueryProblem) -> AppliedRows {
        var sets: [[MemberPath]] = [[]]
        for element in elements {
            switch element {
            case .property(let path): sets = sets.map { $0 + [path] }
            case .rollup(let written):
                // `rollup(null,…)` names the grand total, which is there anyway.
                let paths = written.first.map(Grouping.names) == ["null"] ? Array(written.dropFirst()) : written
                let levels = (0...paths.count).reversed().map { Array(paths.prefix($0)) }
                sets = levels.flatMap { level in sets.map { $0 + level } }
            case .rollupRecursive:
                throw QueryProblem("Recursive hierarchies are not supported.", kind: .notSupported)
            }
        }
        var results: [AppliedRows] = []
        for set in sets { results.append(try grouped(rows, by: set, then)) }
        return results.count == 1 ? results[0] : united(results)
    }

    /// `then` is applied to each group: what narrows it, an aggregate that makes one row of it, and what may follow one row.
    private func grouped(
        _ rows: AppliedRows, by properties: [MemberPath], _ then: [Transformation]
    ) throws(QueryProblem) -> AppliedRows {
        guard !then.isEmpty else { return try Grouping(applier: self, rows: rows).grouped(properties, []) }
        guard let place = then.firstIndex(where: { if case .aggregate = $0 { true } else { false } }),
            case .aggregate(let aggregates) = then[place]
        else { throw QueryProblem("In groupby an aggregate is needed.", kind: .notSupported) }
        for step in then[..<place] {
            switch step {
            case .filter, .search, .compute, .identity: continue
            default: throw QueryProblem("This cannot come before groupby's aggregate.", kind: .notSupported)
            }
        }
        let narrowed = try apply(Array(then[..<place]), to: rows)
        var result = try Grouping(applier: self, rows: narrowed).grouped(properties, aggregates)
        for step in then[(place + 1)...] { result = try afterAggregate(step, result) }
        return result
    }

    /// A group is one row then: an order leaves it as it is, and so does a `top` that is not 0.
    private func afterAggregate(_ step: Transformation, _ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        switch step {
        case .identity, .orderBy: return rows
        case .filter, .compute: return try apply([step], to: rows)
        case .top(let digits) where Int(digits) != 0: return rows
        case .skip(let digits) where Int(digits) == 0: return rows
        case .top, .skip: return try apply([.top("0")], to: rows)
        default: throw QueryProblem("This cannot come after groupby's aggregate.", kind: .notSupported)
        }
    }

    func concatenated(_ rows: AppliedRows, _ branches: [[Transformation]]) throws(QueryProblem) -> AppliedRows {
        var results: [AppliedRows] = []
        for branch in branches {
            results.append(try flattened(try settled(try apply(branch, to: rows))))
        }
        return united(results)
    }

    /// Entities as the columns of their properties: in a concat one may come twice.
    func flattened(_ rows: AppliedRows) throws(QueryProblem) -> AppliedRows {
        guard rows.nested.isEmpty else {
            throw QueryProblem("What has nested collections cannot be taken apart.", kind: .notSupported)
        }
        guard case .entities(let place) = rows.content else { return rows }
        var result = rows
        result.content = .columns(
            properties(of: place) + rows.joined.flatMap { $0.columns(self) })
        result.joined = []
        return result
    }

    func properties(of place: EntityPlace, below path: [String] = []) -> [AppliedRows.Column] {
        (reader.model.structured(place.type)?.properties ?? []).compactMap { property in
            place.table.columns[property.name].map { column in
                AppliedRows.Column(
                    path: path + [property.name], meaning: Meaning(.field(place.source, column.field), property.type))
            }
        }
    }

    /// All rows, each with every column that one of them has; null where it lacks it.
    private func united(_ parts: [AppliedRows]) -> AppliedRows {
        var columns: [AppliedRows.Column] = []
        for column in parts.flatMap(\.columns) where !columns.contains(where: { $0.path == column.path }) {
            columns.append(column)
        }
        let relations = parts.map { part in
            let own = part.columns
            return part.relation(
                part.owner
                    + columns.map { column in
                        own.first { $0.path == column.path }?.meaning.expression ?? .value(.null)
                    })
        }
        let (name, owners) = (reader.numbering.next(), parts[0].owner.count)
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, meaning: Meaning(.output(name, owners + position), column.meaning.type))
        }
        var result = AppliedRows(source: .union(relations, as: name), content: .columns(outputs))
        result.belonging = parts[0].belonging?.moved(to: name)
        return result
    }
}
