import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataQueries
import ODataRecords

/// Runs queries of a request: all that one of them reads belongs to one moment.
struct QueryRunner: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    let now: WireDate
    let limits: QueryLimits

    func page(_ query: EntityQuery) async throws -> ResultPage {
        let plan = try plan(query)
        return try await records.withReadSnapshot { snapshot in try plan.page(at: snapshot) }
    }

    func plan(_ query: EntityQuery) throws -> QueryPlan {
        try Self.telling { () throws(QueryProblem) in try query.plan(in: tables, limits: limits) }
    }

    /// As it was checked before where the question is known.
    func plan(_ query: EntityQuery, _ cachedQuery: CachedQuery?) throws -> QueryPlan {
        guard case .all = query.base, let cachedQuery else { return try plan(query) }
        return try Self.telling { () throws(QueryProblem) in
            let prepared = try cachedQuery.query { () throws(QueryProblem) in
                try query.prepared(in: tables, limits: limits)
            }
            return try prepared.page(of: query.pageSize, of: query)
        }
    }

    func plan(_ query: CrossJoinQuery) throws -> CrossJoinPlan {
        try Self.telling { () throws(QueryProblem) in try query.plan(in: tables, limits: limits) }
    }

    func applied(_ query: CrossJoinQuery) throws -> QueryPlan {
        try Self.telling { () throws(QueryProblem) in try query.applied(in: tables, limits: limits) }
    }

    /// Nil where changes of the query's result cannot be followed.
    func tracked(_ query: EntityQuery) throws -> TrackedQuery? { try tracked(query, try plan(query)) }

    func tracked(_ query: EntityQuery, _ plan: QueryPlan) throws -> TrackedQuery? {
        try Self.telling { () throws(QueryProblem) in
            try TrackedQuery(query, plan: plan, in: tables, limits: limits)
        }
    }

    /// As it was found before where the question is known.
    func tracked(_ query: EntityQuery, _ plan: QueryPlan, _ cachedQuery: CachedQuery?) throws -> TrackedQuery? {
        guard case .all = query.base, let cachedQuery else { return try tracked(query, plan) }
        return try cachedQuery.tracked { try tracked(query, plan) }
    }

    /// How many there are, without regard to paging.
    func count(_ query: EntityQuery, _ cachedQuery: CachedQuery? = nil) async throws -> Int {
        let plan = try plan(query, cachedQuery)
        return try await records.withReadSnapshot { snapshot in try plan.count(at: snapshot) }
    }

    private static func telling<Result>(_ body: () throws(QueryProblem) -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            switch error.kind {
            case .invalid: throw PorticoError(.requestInvalid, error.message)
            case .limitExceeded: throw PorticoError(.requestLimitExceeded, error.message)
            case .notSupported: throw ODataError(PorticoError(.requestInvalid, error.message), status: 501)
            }
        }
    }

    /// Which rows a path leads to.
    func base(_ place: EntityCollectionPath) async throws -> EntityQuery.Base {
        switch place.origin {
        case .all: return .all
        case .filtered(let inner, let condition): return .filtered(try await base(inner), condition)
        case .related(let source, _, let name):
            let record = try await RecordFinder(tables: tables, records: records).found(source)
            return .related(from: source.table.source, record.id, property: name)
        }
    }

    func base(_ place: EntityPlace) async throws -> EntityQuery.Base {
        switch place.origin {
        case .key(let id): return .record(id)
        case .member(let entities, let id): return .one(of: try await base(entities), id)
        case .related(let source, _, let name):
            let record = try await RecordFinder(tables: tables, records: records).found(source)
            return .related(from: source.table.source, record.id, property: name)
        }
    }
}
