import AdapterKit
import ODataLanguage

/// A query that was checked against the model, whichever of its pages is asked for.
public struct PreparedQuery: Sendable {
    let level: LevelPlan
    let limits: QueryLimits
    let top: Int?
    let skip: Int
    /// Whether it means something else at another time.
    public let readsClock: Bool

    /// The query's first page, or the one at which its `$skiptoken` goes on. `query` may differ from the one that was
    /// prepared in that option alone.
    public func page(of size: Int, of query: EntityQuery) throws(QueryProblem) -> QueryPlan {
        var (level, remaining) = (level, top)
        if let token = query.skipToken {
            guard let read = PageToken(token.text), read.values.count == level.relation.order.count else {
                throw QueryProblem("The $skiptoken belongs to another query.", at: token.range)
            }
            level.relation.start = .after(read.values)
            remaining = read.remaining
        } else if skip > 0 {
            level.relation.start = .offset(skip)
        }
        return QueryPlan(
            shape: level.shape, level: level, limits: limits, pageLimit: min(size, remaining ?? size),
            readsClock: readsClock, remaining: remaining)
    }
}

extension EntityQuery {
    fileprivate var skipToken: (text: String, range: SourceRange)? {
        for option in options {
            if case .skipToken(let text) = option.form { return (text, option.range) }
        }
        return nil
    }
}
