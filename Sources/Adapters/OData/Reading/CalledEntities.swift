import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Sets whose entities are no records: another system is asked for them with each request.
protocol CalledEntities: Sendable {
    /// The system.
    var name: UpstreamName { get }

    func isCalled(_ source: String) -> Bool

    /// A page of entities, or the one entity that the query leads to.
    func page(_ query: EntityQuery, _ shape: ResultShape, for request: CalledRequest) async throws -> CalledPage

    /// Throws where the caller may not read what the query is about.
    func check(_ query: EntityQuery, _ shape: ResultShape, for caller: Principal) throws

    /// How many entities there are, without regard to paging.
    func count(_ query: EntityQuery, _ shape: ResultShape, for request: CalledRequest) async throws -> Int

    /// The result of a function. `base`: the entities that it is bound to, in that set.
    func result(
        of call: OperationCall, _ suffix: ResourcePath.Suffix, at base: (EntityQuery.Base, RecordTable)?,
        _ options: [QueryOption], _ runner: QueryRunner, for request: CalledRequest
    ) async throws -> CalledResult

    /// Throws where no caller changes the set's entities.
    func checkWritten(_ table: RecordTable) throws

    /// The records of a request that changes an entity.
    func records(over base: any RecordStore, _ runner: QueryRunner, for request: CalledRequest) -> any ChangedElsewhere

    /// What a caller gets for a query of records that needs entities which are none.
    func reported(_ error: PorticoError) -> any Error
}

/// Records that another system changes with the request.
protocol ChangedElsewhere: RecordStore {}

extension CalledEntities {
    func isCalled(_ table: RecordTable) -> Bool { isCalled(table.source) }

    /// Whether the other system is asked: for entities of such a set, and for those that an entity of one leads to.
    func isCalled(_ query: EntityQuery) -> Bool { isCalled(query.source) || isCalled(query.base) }

    private func isCalled(_ base: EntityQuery.Base) -> Bool {
        switch base {
        case .all, .record, .records: false
        case .related(let from, _, _): isCalled(from)
        case .one(let outer, _), .filtered(let outer, _): isCalled(outer)
        }
    }

    /// The same of the query that an entity's path leads to.
    func isCalled(_ path: EntityPath) -> Bool {
        if isCalled(path.table) { return true }
        return switch path.origin {
        case .key: false
        case .related(let source, _, _): isCalled(source.table)
        case .member(let entities, _): isCalled(entities)
        }
    }

    func isCalled(_ path: EntityCollectionPath) -> Bool {
        if isCalled(path.table) { return true }
        return switch path.origin {
        case .all: false
        case .related(let source, _, _): isCalled(source.table)
        case .filtered(let inner, _): isCalled(inner)
        }
    }

    /// Whether the path leads to entities that another system is asked for.
    func isCalled(_ path: ResourcePath) -> Bool {
        switch path.target {
        case .entities(let path): isCalled(path)
        case .entity(let path), .property(let path, _), .stream(let path, _): isCalled(path)
        case .operation: false
        }
    }
}

/// A page of entities that another system has answered.
struct CalledPage: PagePlan {
    let shape: ResultShape
    let held: [ResultRow]
    let count: Int?
    let next: String?

    func total(at snapshot: any RecordSnapshot) throws -> Int? { count }

    func rows(at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void) throws -> String? {
        try receive(held)
        return next
    }
}

/// The result of a function of another system.
enum CalledResult: Sendable {
    case nothing
    case value(WireValue, SchemaOperation)
    case count(Int)
    case entity(ResultRow, ResultShape, RecordTable)
    case entities(CalledPage, RecordTable)
}
