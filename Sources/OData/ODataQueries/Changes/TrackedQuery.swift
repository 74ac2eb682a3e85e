import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// A query whose result can be followed: what has changed in it since a mark is told by the records that changed.
///
/// Protocol 4.01, section 11.3. A result changes with its own records and those that it expands. Where it depends on
/// others besides (a filter by related entities, groups, a part of an order) or on the clock, there is none.
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
    /// `isWhole`: a row of which only expanded entities changed is told whole as well.
    public func changes(
        since mark: ChangeCursor, limit: Int, isWhole: Bool = false, at snapshot: any RecordSnapshot
    ) throws -> ChangesPage {
        let news = try snapshot.changes(of: entities, since: mark, limit: limit)
        let run = ChangesRun(
            snapshot: snapshot, limits: limits.held, news: ChangedRecordIndex(news.records), isWhole: isWhole)
        return ChangesPage(
            shape: shape, changes: try run.changes(of: level).map(\.change), mark: news.cursor,
            isComplete: news.isComplete)
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

    /// What says nothing about which rows there are.
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
