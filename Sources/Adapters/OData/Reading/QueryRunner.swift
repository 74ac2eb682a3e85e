import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Plans and runs the queries of one request. All reads of one query use one snapshot.
struct QueryRunner: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    let now: WireDate
    let limits: QueryLimits
    /// Sets that another system is asked for, and what this request asks of it; nil: there are none.
    let asked: (sets: any CalledEntities, request: CalledRequest)?

    /// Nil where the entities are records.
    func called(_ query: EntityQuery, _ shape: ResultShape) async throws -> CalledPage? {
        guard let asked, asked.sets.isCalled(query) else { return nil }
        return try await asked.sets.page(query, shape, for: asked.request)
    }

    /// The first row, with its shape.
    func row(_ query: EntityQuery) async throws -> (ResultRow, ResultShape)? {
        if let asked, asked.sets.isCalled(query) {
            let page = try await asked.sets.page(query, try plan(query).shape, for: asked.request)
            return page.held.first.map { ($0, page.shape) }
        }
        let page = try await page(query)
        return page.rows.first.map { ($0, page.shape) }
    }

    /// Of records alone.
    func page(_ query: EntityQuery) async throws -> ResultPage {
        let plan = try plan(query)
        return try await records.withReadSnapshot { snapshot in try plan.page(at: snapshot) }
    }

    /// Throws what its caller would get for it, whatever rows there are.
    func check(_ query: EntityQuery) async throws {
        let plan = try plan(query)
        if let asked, asked.sets.isCalled(query) {
            return try asked.sets.check(query, plan.shape, for: asked.request.caller)
        }
        try await records.withReadSnapshot { snapshot in try plan.check(at: snapshot) }
    }

    func plan(_ query: EntityQuery) throws -> QueryPlan {
        try Self.reportingProblems { () throws(QueryProblem) in try query.plan(in: tables, limits: limits) }
    }

    /// Uses the cached plan if there is one.
    func plan(_ query: EntityQuery, _ cachedQuery: CachedQuery?) throws -> QueryPlan {
        if let asked, asked.sets.isCalled(query) { return try plan(query.withoutPlace) }
        guard case .all = query.base, let cachedQuery else { return try plan(query) }
        return try Self.reportingProblems { () throws(QueryProblem) in
            let prepared = try cachedQuery.query { () throws(QueryProblem) in
                try query.prepared(in: tables, limits: limits)
            }
            return try prepared.page(of: query.pageSize, of: query)
        }
    }

    func plan(_ query: CrossJoinQuery) throws -> CrossJoinPlan {
        try Self.reportingProblems { () throws(QueryProblem) in try query.plan(in: tables, limits: limits) }
    }

    func applied(_ query: CrossJoinQuery) throws -> QueryPlan {
        try Self.reportingProblems { () throws(QueryProblem) in try query.applied(in: tables, limits: limits) }
    }

    /// Nil where changes of the query's result cannot be followed.
    func tracked(_ query: EntityQuery) throws -> TrackedQuery? { try tracked(query, try plan(query)) }

    func tracked(_ query: EntityQuery, _ plan: QueryPlan) throws -> TrackedQuery? {
        try Self.reportingProblems { () throws(QueryProblem) in
            try TrackedQuery(query, plan: plan, in: tables, limits: limits)
        }
    }

    /// Uses the cached tracking if there is one.
    func tracked(_ query: EntityQuery, _ plan: QueryPlan, _ cachedQuery: CachedQuery?) throws -> TrackedQuery? {
        guard case .all = query.base, let cachedQuery else { return try tracked(query, plan) }
        return try cachedQuery.tracked { try tracked(query, plan) }
    }

    /// How many there are, without regard to paging.
    func count(_ query: EntityQuery, _ cachedQuery: CachedQuery? = nil) async throws -> Int {
        let plan = try plan(query, cachedQuery)
        if let asked, asked.sets.isCalled(query) {
            return try await asked.sets.count(query, plan.shape, for: asked.request)
        }
        return try await records.withReadSnapshot { snapshot in try plan.count(at: snapshot) }
    }

    static func reportingProblems<Result>(_ body: () throws(QueryProblem) -> Result) throws -> Result {
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
    func base(_ collectionPath: EntityCollectionPath) async throws -> EntityQuery.Base {
        switch collectionPath.origin {
        case .all: return .all
        case .filtered(let inner, let condition): return .filtered(try await base(inner), condition)
        case .related(let source, _, let name): return try await related(source, name)
        }
    }

    private func related(_ source: EntityPath, _ name: String) async throws -> EntityQuery.Base {
        // The other system says whether there is such an entity.
        if let asked, asked.sets.isCalled(source.table), case .key(let id) = source.origin {
            return .related(from: source.table.source, id, property: name)
        }
        let record = try await RecordFinder(tables: tables, records: records, runner: self).found(source)
        return .related(from: source.table.source, record.id, property: name)
    }

    func base(_ entityPath: EntityPath) async throws -> EntityQuery.Base {
        switch entityPath.origin {
        case .key(let id): return .record(id)
        case .member(let entities, let id): return .one(of: try await base(entities), id)
        case .related(let source, _, let name): return try await related(source, name)
        }
    }
}

/// Finds the records that resource paths lead to.
struct RecordFinder: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    /// What asks other systems for entities that are no records; nil where all are.
    var runner: QueryRunner?

    /// Nil where no record exists, or where its type does not match the path's cast.
    func record(_ entityPath: EntityPath) async throws -> Record? {
        guard let record = try await anyType(entityPath) else { return nil }
        guard tables.model.type(entityPath.table.type(of: record), isA: entityPath.type.name) else { return nil }
        return record
    }

    /// Throws `record.notFound` where there is none.
    func found(_ entityPath: EntityPath) async throws -> Record {
        guard let record = try await record(entityPath) else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: entityPath.table.source)
        }
        return record
    }

    /// An entity of another system as a record.
    private func called(_ entityPath: EntityPath, _ runner: QueryRunner) async throws -> Record? {
        let table = entityPath.table
        let query = EntityQuery(
            table.source, base: try await runner.base(entityPath), pageSize: 1, now: runner.now)
        guard let (row, shape) = try await runner.row(query) else { return nil }
        var fields = WireDictionary()
        for (position, column) in shape.columns.enumerated() {
            if position == shape.typeColumn, let field = table.discriminator {
                fields[field.text] = row.values[position]
            } else if column.path.count == 1, let field = table.columns[column.name]?.field {
                fields[field.text] = row.values[position]
            }
        }
        guard let id = table.recordID(fields: fields, form: StoredValueCodec(model: tables.model)) else { return nil }
        if table.columns.values.allSatisfy({ $0.field != table.keyField }) {
            fields[table.keyField.text] = .string(id.text)
        }
        let revision = shape.revisionColumn.flatMap { row.values[$0].int64Value }
        return Record(
            id: id, revision: Revision(revision ?? EntityTag.number(String(describing: fields))), fields: fields)
    }

    private func anyType(_ entityPath: EntityPath) async throws -> Record? {
        if let runner, let asked = runner.asked, asked.sets.isCalled(entityPath) {
            return try await called(entityPath, runner)
        }
        switch entityPath.origin {
        case .key(let id): return try await records.record(id, in: entityPath.table.entity)
        case .member(let entities, let id):
            guard let record = try await records.record(id, in: entityPath.table.entity) else { return nil }
            guard let filter = try await filter(entities) else { return record }
            let own = Filter.compare(entityPath.table.keyField, .equal, record[entityPath.table.keyField])
            return try await records.query(Query(.all([own, filter]), limit: 1), in: entityPath.table.entity).records
                .first
        case .related(let source, let relation, _):
            let near = try await found(source)
            guard let filter = try await filter(of: relation, from: near, source.table) else { return nil }
            return try await records.query(Query(filter, limit: 1), in: entityPath.table.entity).records.first
        }
    }

    /// Which records of the table are meant; nil: all.
    func filter(_ collectionPath: EntityCollectionPath) async throws -> Filter? {
        if case .filtered = collectionPath.origin {
            throw ODataError.notImplemented("A filter segment before this one")
        }
        var filter: Filter?
        if case .related(let source, let relation, _) = collectionPath.origin {
            let near = try await found(source)
            filter = try await self.filter(of: relation, from: near, source.table) ?? .never
        }
        guard let discriminator = collectionPath.table.discriminator,
            collectionPath.type.name != collectionPath.table.type.name
        else {
            return filter
        }
        let family = tables.model.family(of: collectionPath.type.name).map { WireValue.string($0.description) }
        return .both(filter, .oneOf(discriminator, family))
    }

    /// The records that a relation leads to from `near`; nil where it leads nowhere.
    func filter(of relation: RecordRelation, from near: Record, _ table: RecordTable) async throws -> Filter? {
        switch relation {
        case .fields(_, let pairs, _):
            guard pairs.allSatisfy({ !near[$0.near].isNull }) else { return nil }
            return .all(pairs.map { .compare($0.far, .equal, near[$0.near]) })
        case .links(let target, let through, let own, let other, _):
            let keys = try await linked(near[table.keyField], through, own, other)
            return tables[target].map { .oneOf($0.keyField, keys) }
        }
    }

    private func linked(
        _ key: WireValue, _ through: EntityName, _ own: FieldName, _ other: FieldName
    ) async throws -> [WireValue] {
        var keys: [WireValue] = []
        var query = Query(.compare(own, .equal, key), limit: Query.maximumLimit)
        while true {
            let page = try await records.query(query, in: through)
            keys += page.records.map { $0[other] }
            guard let next = page.next else { return keys }
            query.start = .after(next)
        }
    }
}

extension RecordTable {
    /// The record's own type.
    func type(of record: Record) -> QualifiedName {
        discriminator.flatMap { record[$0].stringValue }.flatMap { QualifiedName($0) } ?? type.name
    }
}

/// The type, path and entity tag of the entity in a result row.
struct RowIdentity {
    let tables: ServiceTables

    /// The row's own type; nil for what is no entity.
    func type(_ row: ResultRow, _ shape: ResultShape) -> StructuredType? {
        if let column = shape.typeColumn, let name = row.values[column].stringValue.flatMap({ QualifiedName($0) }) {
            return tables.model.structured(name)
        }
        return commonType(shape)
    }

    /// That of rows that do not say theirs.
    func commonType(_ shape: ResultShape) -> StructuredType? {
        guard let type = shape.type, type != shape.table?.type.name else { return shape.table?.type }
        return tables.model.structured(type) ?? shape.table?.type
    }

    /// `Students(1)`; nil where the row does not hold the key.
    func path(_ row: ResultRow, _ shape: ResultShape) -> String? {
        guard let table = shape.table else { return nil }
        guard let key = shape.outline.key else { return table.isSingleton ? table.source : nil }
        let literals = LiteralText(model: tables.model)
        return table.source + table.keyPredicate(key.map { literals.text(row.values[$0.position], as: $0.column.type) })
    }

    func tag(_ row: ResultRow, _ shape: ResultShape) -> String? {
        shape.revisionColumn.flatMap { row.values[$0].int64Value }.map { EntityTag.text(Revision($0)) }
    }
}

/// Entity tags of records. They are weak, because an entity's JSON differs with what is selected.
enum EntityTag {
    /// FNV-1a, without its lowest bit: of what has no revision.
    static func number(_ text: String) -> Int64 {
        Int64(text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 1)
    }

    static func text(_ revision: Revision) -> String { "W/\"\(revision)\"" }

    /// The revisions that a list of tags names; nil for `*`. What is no tag of ours matches nothing.
    static func revisions(_ field: String) -> [Revision]? {
        if field.trimmingFieldWhitespace == "*" { return nil }
        return field.split(separator: ",").compactMap { piece in
            var text = piece.trimmingFieldWhitespace
            // Cannot trap: it begins with two characters.
            if text.hasPrefix("W/") { text.removeFirst(2) }
            guard text.hasPrefix("\""), text.hasSuffix("\""), text.count > 2 else { return nil }
            return Int64(text.dropFirst().dropLast()).map(Revision.init)
        }
    }
}
