import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `groupby`: its elements as sets of properties, and what is done with each group. Data Aggregation 4.0, section 3.2.3.
extension Applier {
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
            for (rollup, around) in rollups.reversed() { result = try rollup.told(result, around: around) }
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

    /// `then` is applied to each group: most often what narrows it, an aggregate that makes one row of it, and what may
    /// follow one row, which needs no more than a grouping.
    private func grouped(
        _ rows: AppliedRows, by properties: [MemberPath], _ then: [Transformation]
    ) throws(QueryProblem) -> AppliedRows {
        guard !then.isEmpty else { return try Grouping(applier: self, rows: rows).grouped(properties, []) }
        guard let place = then.firstIndex(where: \.isAggregate), case .aggregate(let aggregates) = then[place],
            then[..<place].allSatisfy(\.looksAtRows), then[(place + 1)...].allSatisfy(\.mayFollowOneRow)
        else { return try GroupsAsOwners(applier: self, properties: properties).grouped(rows, then) }
        let reads = reader.numbering.theseReads
        let narrowed = try apply(Array(then[..<place]), to: rows)
        // `$these` are the rows of a group.
        guard reader.numbering.theseReads == reads else {
            return try GroupsAsOwners(applier: self, properties: properties).grouped(rows, then)
        }
        var result = try Grouping(applier: self, rows: narrowed).grouped(properties, aggregates)
        for step in then[(place + 1)...] { result = try afterAggregate(step, result) }
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

    /// Whether it does the same to a row in whichever group that is.
    fileprivate var looksAtRows: Bool {
        switch self {
        case .filter, .search, .compute, .identity: true
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
