import AdapterKit
import ODataLanguage
import ODataModel

/// A query whose result can be followed: finds the changes of the result since a mark (Protocol 4.01, section 11.3).
///
/// A result changes with its own records and those that it expands. It is nil for a query that depends on other records
/// (a filter by related entities, groups, an order by related entities) or on the clock.
public struct TrackedQuery: Sendable {
    public let shape: ResultShape
    /// Whose changes it looks at.
    public let entities: [EntityName]
    let level: LevelPlan
    let limits: QueryLimits

    /// Nil where the query cannot be followed. `plan` is the query's own. Throws where it means nothing.
    public init?(
        _ query: EntityQuery, plan: QueryPlan, in tables: ServiceTables, limits: QueryLimits = .standard
    ) throws(QueryProblem) {
        guard query.options.allSatisfy(\.isTrackable) else { return nil }
        var plan = plan
        if query.options.contains(where: \.isOfOnePage) {
            var whole = query
            whole.options.removeAll(where: \.isOfOnePage)
            plan = try whole.plan(in: tables, limits: limits)
        }
        guard !plan.readsClock, plan.level.relation.joins.isEmpty, plan.level.isIndependent else { return nil }
        shape = plan.level.shape
        level = plan.level
        self.limits = limits
        entities = Set(level.entities).sorted()
    }

    /// Where the result is now.
    public func mark(at snapshot: any RecordSnapshot) throws -> ChangeCursor { try snapshot.changeCursor(of: entities) }

    /// What has changed since the mark, of at most `limit` records. Throws `sync.fetchAgain` where that is not known.
    /// `isWhole`: a row of which only expanded entities changed is reported whole as well.
    public func changes(
        since mark: ChangeCursor, limit: Int, isWhole: Bool = false, at snapshot: any RecordSnapshot
    ) throws -> ChangesPage {
        let changed = try snapshot.changes(of: entities, since: mark, limit: limit)
        let run = ChangesReader(
            snapshot: snapshot, limits: limits.held, changed: ChangedRecordIndex(changed.records), isWhole: isWhole)
        return ChangesPage(
            shape: shape, changes: try run.changes(of: level).map(\.change), mark: changed.cursor,
            isComplete: changed.isComplete)
    }

    /// How many changes there are since the mark, on all pages together.
    public func count(since mark: ChangeCursor, limit: Int, at snapshot: any RecordSnapshot) throws -> Int {
        var (mark, count) = (mark, 0)
        while true {
            let page = try changes(since: mark, limit: limit, at: snapshot)
            count += page.changes.count
            guard !page.isComplete else { return count }
            mark = page.mark
        }
    }
}

extension QueryOption {
    fileprivate var isTrackable: Bool {
        switch form {
        case .top, .skip, .apply, .index: false
        default: true
        }
    }

    /// Options that do not affect which rows there are.
    fileprivate var isOfOnePage: Bool {
        switch form {
        case .orderBy, .count, .skipToken, .deltaToken: true
        default: false
        }
    }
}

extension LevelPlan {
    fileprivate var entities: [EntityName] {
        var found: [EntityName] = []
        for source in [relation.source] + relation.joins.map(\.source) {
            if case .records(let entity, _) = source { found.append(entity) }
        }
        return found + expansions.flatMap(\.level.entities)
    }

    /// Whether a row is of the level or not by its own record alone, and its expansions' as well.
    fileprivate var isIndependent: Bool {
        guard relation.window == nil, relation.condition?.isOfItsRow ?? true else { return false }
        guard relation.columns.allSatisfy(\.isOfItsRow) else { return false }
        return expansions.allSatisfy { expansion in
            guard case .entities = expansion.content, expansion.made == nil else { return false }
            return expansion.level.isIndependent
        }
    }
}

extension RowExpression {
    /// Whether the value depends on the records of its own row only, not on others.
    var isOfItsRow: Bool {
        switch self {
        case .field, .revision, .output, .element, .value, .found: return true
        case .member(let inner, _, _), .isNull(let inner), .isTrue(let inner), .not(let inner), .oneOf(let inner, _):
            return inner.isOfItsRow
        case .same(let left, let right), .compare(_, let left, let right), .arithmetic(_, let left, let right):
            return left.isOfItsRow && right.isOfItsRow
        case .all(let parts), .any(let parts), .call(_, let parts): return parts.allSatisfy(\.isOfItsRow)
        case .choose(let branches, let otherwise):
            return otherwise.isOfItsRow
                && branches.allSatisfy { $0.condition.isOfItsRow && $0.value.isOfItsRow }
        case .among(let value, let relation): return value.isOfItsRow && relation.isOfItsRow
        case .exists(let relation), .first(let relation): return relation.isOfItsRow
        case .aggregate(_, let inner, _): return inner?.isOfItsRow ?? true
        case .sumBefore, .sumWithin: return false
        }
    }
}

extension Relation {
    /// Whether it is made of a row's own values: the elements of its lists.
    fileprivate var isOfItsRow: Bool {
        source.isOfItsRow && joins.allSatisfy { $0.source.isOfItsRow && $0.condition.isOfItsRow }
            && (condition?.isOfItsRow ?? true) && columns.allSatisfy(\.isOfItsRow)
            && (groups ?? []).allSatisfy(\.isOfItsRow) && (groupCondition?.isOfItsRow ?? true)
            && order.allSatisfy(\.expression.isOfItsRow)
    }
}

extension RelationSource {
    fileprivate var isOfItsRow: Bool {
        switch self {
        case .records, .recursion, .found: false
        case .rows(let relation, _): relation.isOfItsRow
        case .union(let relations, _): relations.allSatisfy(\.isOfItsRow)
        case .elements(let list, _): list.isOfItsRow
        case .one: true
        }
    }
}
