import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// The sets of a service whose entities are not kept: another system is asked for them with each request (`mode: call`).
///
/// An answer outlives the request that it was asked for where `freshFor` or `staleFor` say so. Functions of the system are asked
/// for in the same way, whatever the mode of the sets is.
struct CalledSets: CalledEntities {
    /// Answers that one request is made of at most: further pages of what the other system cuts off, also within entities.
    private static let mostAnswers = 20
    private static let counts: Set<String> = ["text/plain"]

    let service: ServiceConfiguration
    let upstream: ServiceUpstream
    let exchange: EntityExchange
    /// Of changes with the system's own credentials.
    let session: WriteSession
    let callersSessions = CallersWriteSessions()
    let answers = CalledAnswers()
    let clock: any WallClock

    /// Nil where the service has neither such sets nor functions.
    init?(_ service: ServiceConfiguration, _ called: (any Upstream)?, clock: any WallClock) {
        guard let upstream = service.upstream, let called,
            !upstream.called.isEmpty || !service.model.operations.isEmpty
        else { return nil }
        self.service = service
        self.upstream = upstream
        exchange = EntityExchange(called, upstream)
        session = WriteSession(exchange)
        self.clock = clock
    }

    var tables: ServiceTables { service.tables }
    var model: EntityDataModel { service.model }

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
    func page(_ query: EntityQuery, _ shape: ResultShape, for request: CalledRequest) async throws -> CalledPage {
        try await reporting {
            let place = try place(of: query.base, in: query.source)
            try authorize(place.sources, shape, request.caller)
            let asked = try QueryRunner.reportingProblems { () throws(QueryProblem) in
                try CalledQuery(
                    query, filters: place.filters, shape: shape, in: tables, version: upstream.version,
                    limits: service.limits.query)
            }
            var reading = reading(for: request, keeping: keeping(of: place.sources))
            return place.isSingle
                ? try await reading.entity(asked, at: place.path) : try await reading.page(asked, at: place.path)
        }
    }

    /// Throws where the caller may not read what the query is about.
    func check(_ query: EntityQuery, _ shape: ResultShape, for caller: Principal) throws {
        try authorize([query.source], shape, caller)
    }

    /// How many entities there are, without regard to paging.
    func count(_ query: EntityQuery, _ shape: ResultShape, for request: CalledRequest) async throws -> Int {
        try await reporting {
            let place = try place(of: query.base, in: query.source)
            try authorize(place.sources, shape, request.caller)
            let asked = try QueryRunner.reportingProblems { () throws(QueryProblem) in
                try CalledQuery(
                    query, filters: place.filters, shape: shape, in: tables, version: upstream.version,
                    limits: service.limits.query)
            }
            return try await ask(
                try address("\(place.path)/$count", asked.choosing), "text/plain", keeping(of: place.sources),
                for: request
            ) { try number($0) }
        }
    }

    func reading(for request: CalledRequest, keeping: CallThrough?) -> CalledReading {
        CalledReading(sets: self, request: request, keeping: keeping, answersLeft: Self.mostAnswers)
    }

    /// The times for which answers to queries of the first called one of these sets are used again.
    private func keeping(of sources: [String]) -> CallThrough? {
        sources.first(where: isCalled).flatMap { upstream.keeping[$0] }
    }

    @inline(never) func number(_ answer: UpstreamResponse) throws -> Int {
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

    /// Reads an answer: one that is kept and fresh, the other system's, or the last good one where that fails.
    ///
    /// In the caller's name, where the system is called so. `type`: what is accepted instead of JSON. `read` throws for an answer
    /// that is none.
    func ask<Value>(
        _ address: UpstreamAddress, _ type: String?, _ keeping: CallThrough?, for request: CalledRequest,
        read: (UpstreamResponse) throws -> Value
    ) async throws -> Value {
        let owner = exchange.called.actsForCallers ? request.owner : nil
        guard let keeping, owner != nil || !exchange.called.actsForCallers else {
            let answer = try await send(address, type, within: nil, for: request)
            let value = try read(answer)
            note(CalledAnswers.Answer(response: answer, fetched: clock.now()), "fwd=miss", for: request)
            return value
        }
        let key = CalledAnswers.Key(address: address, mediaType: type, owner: owner)
        let known = request.takesKept ? servable(key, keeping) : nil
        if let known, seconds(since: known.fetched) <= keeping.freshFor.seconds {
            note(known, "hit", for: request)
            return try read(known.response)
        }
        let removals = answers.removals
        do {
            let answer = try await send(address, type, within: known == nil ? nil : keeping.waitFor, for: request)
            let value = try read(answer)
            guard answer.age <= keeping.staleFor else {
                throw PorticoError(
                    .adapterUnavailable, "The system \(upstream.name) gives no answer that is recent enough.",
                    retryAfter: 5)
            }
            let fetched = CalledAnswers.Answer(response: answer, fetched: clock.now())
            answer.isSuccess ? answers.keep(fetched, as: key, since: removals) : answers.remove(key)
            let reason = known == nil ? "fwd=miss" : "fwd=stale"
            note(fetched, answer.isSuccess ? "\(reason); stored" : reason, for: request)
            return value
        } catch {
            switch CallFailure(error, inCallersName: owner != nil) {
            case .refused: throw error
            case .denied:
                forget(owner)
                throw error
            case .failed(let detail):
                // It may have become too old meanwhile, or been removed by a change.
                guard known != nil, let known = servable(key, keeping) else { throw error }
                note(known, "fwd=stale; detail=\(detail)", for: request)
                return try read(known.response)
            }
        }
    }

    /// The kept answer, unless it is too old to be served.
    private func servable(_ key: CalledAnswers.Key, _ keeping: CallThrough) -> CalledAnswers.Answer? {
        answers.answer(key).flatMap { seconds(since: $0.asOf) <= keeping.staleFor.seconds ? $0 : nil }
    }

    /// A clock that was set back makes everything too old.
    private func seconds(since time: WireDate) -> Double {
        let seconds = clock.now().secondsSinceReferenceDate - time.secondsSinceReferenceDate
        return seconds < -1 ? .infinity : seconds
    }

    private func note(_ answer: CalledAnswers.Answer, _ status: String, for request: CalledRequest) {
        let seconds = max(0, min(self.seconds(since: answer.asOf), Double(Int32.max)))
        request.note(RecordAge(asOf: answer.asOf, seconds: Int(seconds), cacheStatus: "portico; \(status)"))
    }

    /// The other system takes the sign-in no longer.
    func forget(_ owner: String?) {
        guard let owner else { return }
        answers.forget(owner)
        callersSessions.forget(owner)
    }

    private func send(
        _ address: UpstreamAddress, _ type: String?, within time: Duration?, for caller: CalledRequest
    ) async throws -> UpstreamResponse {
        var request = UpstreamRequest(.get, address, fields: exchange.fields)
        if let type { request.fields["Accept"] = type }
        if let time { request.deadline = time }
        let answer = try await EntityExchange(exchange.called, upstream, for: caller.caller).send(request)
        if exchange.called.actsForCallers, answer.status == 403 {
            throw PorticoError(.accessDenied, "The system \(upstream.name) does not let you do this.")
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
    func reporting<Result>(_ body: () async throws -> Result) async throws -> Result {
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

    func authorize(_ sources: [String], _ shape: ResultShape?, _ caller: Principal) throws {
        for source in sources { try service.rights[source].authorize(caller, effect: .reads) }
        for expansion in shape?.expansions ?? [] {
            try authorize(expansion.shape.table.map { [$0.source] } ?? [], expansion.shape, caller)
        }
    }

    // MARK: Paths

    /// Where the entities of a query are in the other system.
    struct Place {
        /// Below the service's root, percent-encoded.
        var path: String
        var isSingle: Bool
        /// Of segments of the path.
        var filters: [Expression] = []
        /// The sets that the path leads through.
        var sources: [String]
    }

    func place(of base: EntityQuery.Base, in source: String) throws -> Place {
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

/// The statement that a failure of a call makes about the other system.
private enum CallFailure {
    /// It fails: the last good answer will do.
    case failed(detail: String)
    /// It takes this caller no longer.
    case denied
    /// Its answer to the caller, or no caller waits.
    case refused

    init(_ error: any Error, inCallersName: Bool) {
        switch error {
        case let failure as UpstreamFailure:
            switch failure.kind {
            case .cancelled: self = .refused
            case .signInRequired where inCallersName, .credentialsRefused where inCallersName: self = .denied
            case .timedOut: self = .failed(detail: "upstream-timeout")
            case .overloaded: self = .failed(detail: "upstream-overloaded")
            default: self = .failed(detail: "upstream-failed")
            }
        case let refusal as MirrorRefusal:
            self = refusal.kind == .loginPage && inCallersName ? .denied : .failed(detail: "upstream-failed")
        case let error as PorticoError:
            switch error.code {
            case .loginRequired where inCallersName, .accessDenied where inCallersName: self = .denied
            case .upstreamTimeout: self = .failed(detail: "upstream-timeout")
            case .upstreamFailed, .adapterUnavailable, .overloaded: self = .failed(detail: "upstream-failed")
            default: self = .refused
            }
        default: self = .refused
        }
    }
}

extension Duration {
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1_000_000_000_000_000_000
    }
}

/// What one request asks of another system, and how many answers it may still be made of.
struct CalledReading {
    let sets: CalledSets
    let request: CalledRequest
    let keeping: CallThrough?
    var answersLeft: Int

    mutating func ask<Value>(
        _ address: UpstreamAddress, read: (UpstreamResponse) throws -> Value
    ) async throws -> Value {
        guard answersLeft > 0 else {
            throw PorticoError(
                .requestLimitExceeded,
                "The system \(sets.upstream.name) answers this in too many parts; ask for fewer entities with $top.")
        }
        answersLeft -= 1
        return try await sets.ask(address, nil, keeping, for: request, read: read)
    }

    /// Entities of a collection, and what its links are relative to.
    struct Part {
        let feed: EntityFeed
        let base: UpstreamAddress
    }

    mutating func part(_ address: UpstreamAddress) async throws -> Part {
        let sets = sets
        return try await ask(address) { answer in
            let feed = try sets.exchange.feed(answer)
            return Part(feed: feed, base: sets.exchange.base(feed.context, of: answer))
        }
    }

    /// The one entity that a path leads to.
    mutating func entity(_ query: CalledQuery, at path: String) async throws -> CalledPage {
        let row = try await entity(query.shape, at: try sets.address(path, query.shaping))
        return CalledPage(shape: query.shape, held: row.map { [$0] } ?? [], count: nil, next: nil)
    }

    /// Nil: there is none.
    mutating func entity(
        _ shape: ResultShape, at address: UpstreamAddress, check: (UpstreamResponse) throws -> Void = { _ in }
    ) async throws -> ResultRow? {
        let sets = sets
        let found = try await ask(address) { answer in
            try check(answer)
            return try sets.entity(in: answer).map { entity in
                (
                    entity, CalledSets.revision(entity, answer),
                    sets.exchange.base(EntityFeed.context(of: entity), of: answer)
                )
            }
        }
        guard let (entity, revision, base) = found else { return nil }
        var row = try await self.row(entity, shape, from: base)
        if let column = shape.revisionColumn, row.values[column].isNull, let revision {
            row.values[column] = .int64(revision)
        }
        return row
    }

    /// So many entities of a collection. What the other system cuts off is asked for by its links.
    mutating func page(_ query: CalledQuery, at path: String) async throws -> CalledPage {
        let (rows, count) = try await rows(
            query.wanted, query.shape, at: try sets.address(path, query.page), isCounted: query.isCounted)
        let hasMore = query.hasFurtherPages && rows.count > query.pageLimit
        return CalledPage(
            shape: query.shape, held: Array(rows.prefix(query.pageLimit)), count: query.isCounted ? count : nil,
            next: hasMore ? String(query.done + query.pageLimit) : nil)
    }

    /// So many rows, and the number of all as the other system says it.
    mutating func rows(
        _ wanted: Int, _ shape: ResultShape, at address: UpstreamAddress, isCounted: Bool,
        check: (UpstreamResponse) throws -> Void = { _ in }
    ) async throws -> ([ResultRow], Int?) {
        let sets = sets
        var part = try await ask(address) { answer in
            try check(answer)
            let feed = try sets.exchange.feed(answer)
            guard !isCounted || feed.count != nil else {
                throw MirrorRefusal(.unexpected, "the answer has no number of all entities")
            }
            return Part(feed: feed, base: sets.exchange.base(feed.context, of: answer))
        }
        let count = part.feed.count.map { Int($0) }
        var rows: [ResultRow] = []
        while true {
            for entity in part.feed.entities where rows.count < wanted {
                rows.append(try await row(entity, shape, from: part.base))
            }
            guard rows.count < wanted, let next = part.feed.next else { return (rows, count) }
            part = try await self.part(try sets.exchange.link(next, from: part.base))
        }
    }

    /// An entity as a row of a result, with what is expanded of it.
    private mutating func row(
        _ entity: WireValue, _ shape: ResultShape, from base: UpstreamAddress
    ) async throws -> ResultRow {
        var row = ResultRow(values: try values(entity, shape))
        for expansion in shape.expansions {
            row.expanded.append(try await expanded(expansion, of: entity, from: base))
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
        _ expansion: ResultExpansion, of entity: WireValue, from base: UpstreamAddress
    ) async throws -> ExpandedRows {
        let value = entity[expansion.property] ?? .null
        guard value["__deferred"] == nil else {
            throw MirrorRefusal(.unexpected, "\(expansion.property) is not expanded in the answer")
        }
        guard expansion.isCollection else {
            guard !value.isNull else { return ExpandedRows() }
            return ExpandedRows(rows: [try await row(value, expansion.shape, from: base)])
        }
        guard let items = value.arrayValue ?? value["results"]?.arrayValue else {
            throw MirrorRefusal(.unexpected, "\(expansion.property) is no list in the answer")
        }
        var rows: [ResultRow] = []
        for item in items { rows.append(try await row(item, expansion.shape, from: base)) }
        var next = try EntityFeed.link(
            entity["\(expansion.property)@odata.nextLink"] ?? entity["\(expansion.property)@nextLink"]
                ?? value["__next"])
        var place = base
        while let link = next {
            let part = try await part(try sets.exchange.link(link, from: place))
            for item in part.feed.entities { rows.append(try await row(item, expansion.shape, from: part.base)) }
            (next, place) = (part.feed.next, part.base)
        }
        return ExpandedRows(rows: rows)
    }
}
