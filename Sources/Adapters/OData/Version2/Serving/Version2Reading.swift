import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// `GET` ([MS-ODATA], section 2.2.7.2).
struct Version2Reading: Sendable {
    private let own: Version2Handler
    private var handler: ResourceHandler { own.handler }
    private var request: ServiceRequest { own.request.plain }

    init(_ own: Version2Handler) {
        self.own = own
    }

    func answer(_ address: Address) async throws -> Version2Answer {
        switch (address.target, address.suffix) {
        case (.entities(let place), .none): return try await feed(place)
        case (.entities(let place), .count):
            if DeltaReading(handler).isAskedForChanges {
                return Version2Answer(plain: try await DeltaReading(handler).count(place))
            }
            let query = try await CollectionReading(handler).query(place)
            return .text(String(try await handler.runner.count(query, request.cachedQuery)))
        case (.entities(let place), .ref): return try await links(place)
        case (.entity(let place), .ref): return try await link(place)
        case (.entity(let place), _): return try await entry(place)
        case (.property(let place, let property), let suffix): return try await self.property(place, property, suffix)
        case (.stream(let place, let name), _):
            return Version2Answer(plain: try await StreamHandler(handler).answer(place, name))
        default: throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }

    private func feed(_ place: EntityCollectionPath) async throws -> Version2Answer {
        let (reading, deltas) = (CollectionReading(handler), DeltaReading(handler))
        if deltas.isAskedForChanges { return try await Version2Changes(own).feed(place) }
        let query = try await reading.query(place)
        let plan = try handler.runner.plan(query, request.cachedQuery)
        // Who can follow changes is told where, as SAP's services do.
        let tracked = try handler.runner.tracked(query, plan, request.cachedQuery)
        let (rows, scope) = (try rows(plan.shape), own.request.scope)
        let body = try await handler.documents.body { snapshot, sink in
            var feed = rows.feed(in: scope, to: sink)
            feed.begin(count: try plan.total(at: snapshot))
            let page =
                plan.isFlat
                ? try plan.rows(
                    at: snapshot, each: { try feed.write(FlatRow(values: $0)) }, thenSome: { try feed.flush() })
                : try plan.rows(at: snapshot) { rows in
                    for row in rows { feed.write(row) }
                    try feed.flush()
                }
            let token = try tracked.map { try deltas.token(try $0.mark(at: snapshot)) }
            feed.end(next: reading.next(page, token), delta: page == nil ? token.map { deltas.link($0) } : nil)
            try feed.flush()
        }
        return Version2Answer(content: .written(body, type: own.request.format.feedType))
    }

    /// How the rows are written; the same for all answers to a question.
    private func rows(_ shape: ResultShape) throws -> any Version2Rows {
        let format = own.request.format
        let make = { format.rows(try own.level(shape, request.target.options), own.tables.model) }
        return try request.cachedQuery?.version2.rows(format.feedType, make) ?? make()
    }

    private func entry(_ place: EntityPlace) async throws -> Version2Answer {
        guard let (row, shape) = try await EntityReading(handler).row(place, options: request.target.options) else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: place.table.source)
        }
        let level = try own.level(shape, request.target.options)
        let tag = level.tag(of: row)
        if let tag, let field = request.headers["If-None-Match"], EntityReading.matches(field, tag) {
            return .nothing(304, headers: ["ETag": tag])
        }
        var headers: MountHeaders = [:]
        headers["ETag"] = tag
        return Version2Answer(headers: headers, content: .entry(Version2Entry(level: level, row: row)))
    }

    /// An entity as it is now, for answers to writes.
    func entry(at place: EntityPlace, status: Int, headers: MountHeaders) async throws -> Version2Answer {
        guard let (row, shape) = try await EntityReading(handler).row(place, options: []) else {
            return .nothing(headers: headers)
        }
        let level = try own.level(shape, [])
        var headers = headers
        headers["ETag"] = level.tag(of: row)
        if status == 201 { headers["Location"] = request.root + level.path(of: row) }
        return Version2Answer(
            status: status, headers: headers, content: .entry(Version2Entry(level: level, row: row)))
    }

    private func links(_ place: EntityCollectionPath) async throws -> Version2Answer {
        let reading = CollectionReading(handler)
        let page = try await handler.runner.page(try await reading.query(place))
        let level = try own.level(page.shape, request.target.options)
        return Version2Answer(
            content: .links(
                Version2Links(
                    addresses: page.rows.map { request.root + level.path(of: $0) }, isCollection: true,
                    count: page.count,
                    next: reading.next(page.next))))
    }

    private func link(_ place: EntityPlace) async throws -> Version2Answer {
        guard let (row, shape) = try await EntityReading(handler).row(place, options: []) else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: place.table.source)
        }
        let level = try own.level(shape, [])
        let address = request.root + level.path(of: row)
        return Version2Answer(content: .links(Version2Links(addresses: [address], isCollection: false)))
    }

    private func property(
        _ place: EntityPlace, _ property: PropertyPath, _ suffix: Address.Suffix
    ) async throws -> Version2Answer {
        let record = try await handler.finder.found(place)
        let value = property.inner.reduce(record[property.column.field]) { $0[$1] ?? .null }
        let headers: MountHeaders = ["ETag": EntityTag.text(record.revision)]
        switch suffix {
        case .none:
            let name = property.inner.last ?? property.column.property
            return Version2Answer(
                headers: headers, content: .property(Version2Property(name: name, value: value, type: property.type)))
        case .value: return try raw(value, property, headers)
        default: throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }

    /// `$value`. A null has none.
    private func raw(_ value: WireValue, _ property: PropertyPath, _ headers: MountHeaders) throws -> Version2Answer {
        if let bytes = value.dataValue {
            return Version2Answer(
                headers: headers, content: .stored(bytes, StoredContent(property.mediaType(in: own.tables))))
        }
        let form = Version2Form(model: own.tables.model)
        guard !value.isNull, let text = form.text(of: value, property.type) ?? form.document(value, property.type)
        else {
            throw PorticoError(.recordNotFound, "\(property.path) has no value.", target: property.path)
        }
        return .text(text, headers: headers)
    }
}
