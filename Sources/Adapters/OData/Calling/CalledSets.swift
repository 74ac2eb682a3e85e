import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// The sets of a service whose entities are not kept: another system is asked for them with each request (`mode: call`).
///
/// Nothing of an answer outlives the request that it was asked for.
struct CalledSets: CalledEntities {
    /// Answers that one request is made of at most: further pages of what the other system cuts off, also within entities.
    private static let mostAnswers = 20
    private static let counts: Set<String> = ["text/plain"]

    let service: ServiceConfiguration
    let upstream: ServiceUpstream
    let exchange: EntityExchange
    /// Of changes with the system's own credentials.
    let session: WriteSession
    let clock: any WallClock

    /// Nil where the service has no such sets.
    init?(_ service: ServiceConfiguration, _ called: (any Upstream)?, clock: any WallClock) {
        guard let upstream = service.upstream, !upstream.called.isEmpty, let called else { return nil }
        self.service = service
        self.upstream = upstream
        exchange = EntityExchange(called, upstream)
        session = WriteSession(exchange)
        self.clock = clock
    }

    private var tables: ServiceTables { service.tables }
    private var model: EntityDataModel { service.model }

    var name: UpstreamName { upstream.name }

    func isCalled(_ source: String) -> Bool { upstream.called.contains(source) }

    /// What a caller gets for a query of records that needs entities which are none.
    func reported(_ error: PorticoError) -> any Error {
        guard error.code == .routeNotFound, let target = error.target,
            let table = tables.tables.values.first(where: { $0.entity.text == target }), isCalled(table)
        else { return error }
        return ODataError.notImplemented(
            "A query of other entities with those of \(table.source), which the system \(upstream.name) is asked for,")
    }

    /// Throws where no caller changes the set's entities.
    func checkWritten(_ table: RecordTable) throws {
        guard !isCalled(table) || !upstream.written.contains(table.source) else { return }
        throw ODataError.methodNotAllowed("\(table.source) is read only.", allowed: "GET, HEAD, OPTIONS")
    }

    // MARK: Requests

    /// A page of entities, or the one entity that the query leads to.
    func page(_ query: EntityQuery, _ shape: ResultShape, for caller: Principal) async throws -> CalledPage {
        try await reporting {
            let place = try place(of: query.base, in: query.source)
            try authorize(place.sources, shape, caller)
            let asked = try QueryRunner.reportingProblems { () throws(QueryProblem) in
                try CalledQuery(
                    query, filters: place.filters, shape: shape, in: tables, version: upstream.version,
                    limits: service.limits.query)
            }
            var reading = CalledReading(sets: self, caller: caller, answersLeft: Self.mostAnswers)
            return place.isSingle
                ? try await reading.entity(asked, at: place.path) : try await reading.page(asked, at: place.path)
        }
    }

    /// Throws where the caller may not read what the query is about.
    func check(_ query: EntityQuery, _ shape: ResultShape, for caller: Principal) throws {
        try authorize([query.source], shape, caller)
    }

    /// How many entities there are, without regard to paging.
    func count(_ query: EntityQuery, _ shape: ResultShape, for caller: Principal) async throws -> Int {
        try await reporting {
            let place = try place(of: query.base, in: query.source)
            try authorize(place.sources, shape, caller)
            let asked = try QueryRunner.reportingProblems { () throws(QueryProblem) in
                try CalledQuery(
                    query, filters: place.filters, shape: shape, in: tables, version: upstream.version,
                    limits: service.limits.query)
            }
            let answer = try await ask(try address("\(place.path)/$count", asked.choosing), "text/plain", for: caller)
            return try number(answer)
        }
    }

    @inline(never) private func number(_ answer: UpstreamResponse) throws -> Int {
        let body = try answer.document(Self.counts, of: upstream.name, quoting: ODataFailure.words(of: answer))
        let digits = String(decoding: body, as: UTF8.self).filter { !$0.isWhitespace && $0 != "\u{FEFF}" }
        guard let number = Int(digits), number >= 0 else {
            throw MirrorRefusal(.malformed, "the answer to $count is no number")
        }
        return number
    }

    func rows(of table: RecordTable) -> EntityRows {
        EntityRows(table: table, model: model, version: upstream.version)
    }

    /// Throws what a caller gets where it is too long.
    @inline(never) func address(_ path: String, _ options: [(String, String)]) throws -> UpstreamAddress {
        let length = options.reduce(path.utf8.count) {
            $0 + $1.0.utf8.count + EntityExchange.escaped($1.1).utf8.count + 2
        }
        guard
            length + upstream.path.utf8.count + exchange.called.url.description.utf8.count
                <= UpstreamAddress.maximumLength
        else {
            throw PorticoError(
                .requestLimitExceeded, "The query is too long to ask the system \(upstream.name).")
        }
        return try exchange.address(path, options)
    }

    /// In the caller's name, where the system is called so. `type`: what is accepted instead of JSON.
    func ask(_ address: UpstreamAddress, _ type: String?, for caller: Principal) async throws -> UpstreamResponse {
        var request = UpstreamRequest(.get, address, fields: exchange.fields)
        if let type { request.fields["Accept"] = type }
        let answer = try await exchange.called.send(request, for: caller)
        if exchange.called.actsForCallers {
            if answer.status == 401 { throw PorticoError(.loginRequired, "This needs a new login.") }
            if answer.status == 403 {
                throw PorticoError(.accessDenied, "The system \(upstream.name) does not let you do this.")
            }
        }
        return answer
    }

    /// The entity of an answer; nil: there is none.
    @inline(never) func entity(in answer: UpstreamResponse) throws -> WireValue? {
        if [204, 404, 410].contains(answer.status) { return nil }
        let document = try exchange.document(answer)
        let entity = upstream.version == .version4 ? document : document["d"] ?? .null
        return entity.isNull ? nil : entity
    }

    /// Their entity tag as a number, of which ours is made; nil: there is none.
    static func revision(_ entity: WireValue, _ answer: UpstreamResponse?) -> Int64? {
        let tag =
            entity["@odata.etag"]?.stringValue ?? entity["@etag"]?.stringValue
            ?? entity["__metadata"]?["etag"]?.stringValue ?? answer?.fields["ETag"]
        return tag.map(EntityTag.number)
    }

    /// With failures as callers may see them.
    private func reporting<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let failure as UpstreamFailure {
            throw failure.asError
        } catch let refusal as MirrorRefusal {
            guard refusal.kind != .loginPage || !exchange.called.actsForCallers else {
                throw PorticoError(.loginRequired, "This needs a new login.", logDetail: refusal.detail)
            }
            throw PorticoError(
                .upstreamFailed, "What the system \(upstream.name) answered cannot be used.",
                logDetail: "\(refusal.kind.rawValue): \(refusal.detail)")
        }
    }

    private func authorize(_ sources: [String], _ shape: ResultShape?, _ caller: Principal) throws {
        for source in sources { try service.rights[source].authorize(caller, effect: .reads) }
        for expansion in shape?.expansions ?? [] {
            try authorize(expansion.shape.table.map { [$0.source] } ?? [], expansion.shape, caller)
        }
    }

    // MARK: Paths

    /// Where the entities of a query are in the other system.
    private struct Place {
        /// Below the service's root, percent-encoded.
        var path: String
        var isSingle: Bool
        /// Of segments of the path.
        var filters: [Expression] = []
        /// The sets that the path leads through.
        var sources: [String]
    }

    private func place(of base: EntityQuery.Base, in source: String) throws -> Place {
        guard let table = tables[source] else { throw ODataError.notImplemented("This path") }
        switch base {
        case .all: return Place(path: source, isSingle: table.isSingleton, sources: [source])
        case .record(let id):
            return Place(path: try exchange.path(of: id, in: table, model), isSingle: true, sources: [source])
        case .related(let from, let id, let property):
            guard let owner = tables[from], let navigation = owner.type.navigation(property) else {
                throw ODataError.notImplemented(
                    "The navigation property \(property) of a derived type, asked of the system \(upstream.name),")
            }
            return Place(
                path: try exchange.path(of: id, in: owner, model) + "/" + property,
                isSingle: !navigation.isCollection, sources: [from, source])
        case .one(let outer, let id):
            var place = try place(of: outer, in: source)
            guard place.filters.isEmpty, !place.isSingle else {
                throw ODataError.notImplemented("A key behind a filter, asked of the system \(upstream.name),")
            }
            place.path += try exchange.path(of: id, in: table, model).dropFirst(table.source.count)
            place.isSingle = true
            return place
        case .filtered(let outer, let condition):
            var place = try place(of: outer, in: source)
            place.filters.append(condition)
            return place
        case .records:
            throw ODataError.notImplemented("Entities of an operation, asked of the system \(upstream.name),")
        }
    }
}

/// What one request asks of another system, and how many answers it may still be made of.
struct CalledReading {
    let sets: CalledSets
    let caller: Principal
    var answersLeft: Int

    private mutating func ask(_ address: UpstreamAddress) async throws -> UpstreamResponse {
        guard answersLeft > 0 else {
            throw PorticoError(
                .requestLimitExceeded,
                "The system \(sets.upstream.name) answers this in too many parts; ask for fewer entities with $top.")
        }
        answersLeft -= 1
        return try await sets.ask(address, nil, for: caller)
    }

    /// The one entity that a path leads to.
    mutating func entity(_ query: CalledQuery, at path: String) async throws -> CalledPage {
        let answer = try await ask(try sets.address(path, query.shaping))
        guard let entity = try sets.entity(in: answer) else {
            return CalledPage(shape: query.shape, held: [], count: nil, next: nil)
        }
        var row = try await self.row(entity, query.shape, in: answer)
        if let column = query.shape.revisionColumn, row.values[column].isNull,
            let revision = CalledSets.revision(entity, answer)
        {
            row.values[column] = .int64(revision)
        }
        return CalledPage(shape: query.shape, held: [row], count: nil, next: nil)
    }

    /// So many entities of a collection. What the other system cuts off is asked for by its links.
    mutating func page(_ query: CalledQuery, at path: String) async throws -> CalledPage {
        var answer = try await ask(try sets.address(path, query.page))
        var feed = try sets.exchange.feed(answer)
        let count = query.isCounted ? feed.count : nil
        guard !query.isCounted || count != nil else {
            throw MirrorRefusal(.unexpected, "the answer has no number of all entities")
        }
        var rows: [ResultRow] = []
        while true {
            for entity in feed.entities where rows.count < query.wanted {
                rows.append(try await row(entity, query.shape, in: answer))
            }
            guard rows.count < query.wanted, let next = feed.next else { break }
            answer = try await ask(try sets.exchange.link(next, in: answer))
            feed = try sets.exchange.feed(answer)
        }
        let hasMore = query.hasFurtherPages && rows.count > query.pageLimit
        return CalledPage(
            shape: query.shape, held: Array(rows.prefix(query.pageLimit)), count: count.map { Int($0) },
            next: hasMore ? String(query.done + query.pageLimit) : nil)
    }

    /// An entity as a row of a result, with what is expanded of it.
    private mutating func row(
        _ entity: WireValue, _ shape: ResultShape, in answer: UpstreamResponse
    ) async throws -> ResultRow {
        var row = ResultRow(values: try values(entity, shape))
        for expansion in shape.expansions {
            row.expanded.append(try await expanded(expansion, of: entity, in: answer))
        }
        return row
    }

    @inline(never) private func values(_ entity: WireValue, _ shape: ResultShape) throws -> [WireValue] {
        guard let table = shape.table, let fields = sets.rows(of: table).row(entity) else {
            throw MirrorRefusal(.unexpected, "an entity is no object")
        }
        return try shape.columns.indices.map { position in
            if position == shape.revisionColumn {
                return CalledSets.revision(entity, nil).map { .int64($0) } ?? .null
            }
            let column = shape.columns[position]
            let field: FieldName?
            if position == shape.typeColumn {
                field = table.discriminator
            } else if position == shape.dynamicColumn {
                field = table.dynamicField
            } else {
                field = column.path.count == 1 ? table.columns[column.name]?.field : nil
            }
            guard let field, let value = fields[field.text] else { return .null }
            if MirrorPage.reason(of: value) != nil {
                throw MirrorRefusal(.unexpected, "\(column.name) of an entity is no value of its type")
            }
            return value
        }
    }

    private mutating func expanded(
        _ expansion: ResultExpansion, of entity: WireValue, in answer: UpstreamResponse
    ) async throws -> ExpandedRows {
        let value = entity[expansion.property] ?? .null
        guard value["__deferred"] == nil else {
            throw MirrorRefusal(.unexpected, "\(expansion.property) is not expanded in the answer")
        }
        guard expansion.isCollection else {
            guard !value.isNull else { return ExpandedRows() }
            return ExpandedRows(rows: [try await row(value, expansion.shape, in: answer)])
        }
        guard let items = value.arrayValue ?? value["results"]?.arrayValue else {
            throw MirrorRefusal(.unexpected, "\(expansion.property) is no list in the answer")
        }
        var rows: [ResultRow] = []
        for item in items { rows.append(try await row(item, expansion.shape, in: answer)) }
        var next = (entity["\(expansion.property)@odata.nextLink"] ?? value["__next"])?.stringValue
        var last = answer
        while let link = next {
            last = try await ask(try sets.exchange.link(link, in: last))
            let feed = try sets.exchange.feed(last)
            for item in feed.entities { rows.append(try await row(item, expansion.shape, in: last)) }
            next = feed.next
        }
        return ExpandedRows(rows: rows)
    }
}
