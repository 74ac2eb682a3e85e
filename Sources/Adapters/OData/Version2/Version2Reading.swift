import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles `GET` of version 2 ([MS-ODATA], section 2.2.7.2).
struct Version2Reading: Sendable {
    private let own: Version2Handler
    private var handler: ResourceHandler { own.handler }
    private var request: ServiceRequest { own.request.plain }

    init(_ own: Version2Handler) {
        self.own = own
    }

    func answer(_ address: ResourcePath) async throws -> Version2Response {
        switch (address.target, address.suffix) {
        case (.entities(let collectionPath), .none): return try await feed(collectionPath)
        case (.entities(let collectionPath), .count):
            if DeltaReading(handler).isAskedForChanges {
                return Version2Response(plain: try await DeltaReading(handler).count(collectionPath))
            }
            let query = try await CollectionReading(handler).query(collectionPath)
            return .text(String(try await handler.runner.count(query, request.cachedQuery)))
        case (.entities(let collectionPath), .ref): return try await links(collectionPath)
        case (.entity(let entityPath), .ref): return try await link(entityPath)
        case (.entity(let entityPath), _): return try await entry(entityPath)
        case (.property(let entityPath, let property), let suffix):
            return try await self.property(entityPath, property, suffix)
        case (.stream(let entityPath, let name), _):
            return Version2Response(plain: try await StreamHandler(handler).answer(entityPath, name))
        default: throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }

    private func feed(_ collectionPath: EntityCollectionPath) async throws -> Version2Response {
        let (reading, deltas) = (CollectionReading(handler), DeltaReading(handler))
        if deltas.isAskedForChanges { return try await Version2Changes(own).feed(collectionPath) }
        let query = try await reading.query(collectionPath)
        let plan = try handler.runner.plan(query, request.cachedQuery)
        let called = try await handler.runner.called(query, plan.shape)
        let source: any PagePlan = called ?? plan
        // Every trackable feed has a delta link, as in SAP's services.
        let tracked = called != nil ? nil : try handler.runner.tracked(query, plan, request.cachedQuery)
        let (rows, scope) = (try rows(plan.shape), own.request.scope)
        let body = try await handler.documents.body { snapshot, sink in
            var feed = rows.feed(in: scope, to: sink)
            feed.begin(count: try source.total(at: snapshot))
            let page =
                called == nil && plan.isFlat
                ? try plan.rows(
                    at: snapshot, each: { try feed.write(FlatRow(values: $0)) }, thenSome: { try feed.flush() })
                : try source.rows(at: snapshot) { rows in
                    for row in rows { feed.write(row) }
                    try feed.flush()
                }
            let token = try tracked.map { try deltas.token(try $0.mark(at: snapshot)) }
            feed.end(next: reading.next(page, token), delta: page == nil ? token.map { deltas.link($0) } : nil)
            try feed.flush()
        }
        return Version2Response(content: .written(body, type: own.request.format.feedType))
    }

    /// The row writer; cached for all responses to a query.
    private func rows(_ shape: ResultShape) throws -> any Version2Rows {
        let format = own.request.format
        let make = { format.rows(try own.level(shape, request.target.options), own.tables.model) }
        return try request.cachedQuery?.version2.rows(format.feedType, make) as? any Version2Rows ?? make()
    }

    private func entry(_ entityPath: EntityPath) async throws -> Version2Response {
        guard let (row, shape) = try await EntityReading(handler).row(entityPath, options: request.target.options)
        else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: entityPath.table.source)
        }
        let level = try own.level(shape, request.target.options)
        let tag = level.tag(of: row)
        if let tag, let field = request.headers["If-None-Match"], EntityReading.matches(field, tag) {
            return .nothing(304, headers: ["ETag": tag])
        }
        var headers: MountHeaders = [:]
        headers["ETag"] = tag
        return Version2Response(headers: headers, content: .entry(Version2Entry(level: level, row: row)))
    }

    /// An entity as it is now, for answers to writes.
    func entry(at entityPath: EntityPath, status: Int, headers: MountHeaders) async throws -> Version2Response {
        guard let (row, shape) = try await EntityReading(handler).row(entityPath, options: []) else {
            return .nothing(headers: headers)
        }
        let level = try own.level(shape, [])
        var headers = headers
        headers["ETag"] = level.tag(of: row)
        if status == 201 { headers["Location"] = request.root + level.path(of: row) }
        return Version2Response(
            status: status, headers: headers, content: .entry(Version2Entry(level: level, row: row)))
    }

    private func links(_ collectionPath: EntityCollectionPath) async throws -> Version2Response {
        let reading = CollectionReading(handler)
        let query = try await reading.query(collectionPath)
        let shape = try handler.runner.plan(query, nil).shape
        let level = try own.level(shape, request.target.options)
        func links(_ rows: [ResultRow], _ count: Int?, _ next: String?) -> Version2Response {
            Version2Response(
                content: .links(
                    Version2Links(
                        addresses: rows.map { request.root + level.path(of: $0) }, isCollection: true, count: count,
                        next: reading.next(next))))
        }
        if let called = try await handler.runner.called(query, shape) {
            return links(called.held, called.count, called.next)
        }
        let page = try await handler.runner.page(query)
        return links(page.rows, page.count, page.next)
    }

    private func link(_ entityPath: EntityPath) async throws -> Version2Response {
        guard let (row, shape) = try await EntityReading(handler).row(entityPath, options: []) else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: entityPath.table.source)
        }
        let level = try own.level(shape, [])
        let address = request.root + level.path(of: row)
        return Version2Response(content: .links(Version2Links(addresses: [address], isCollection: false)))
    }

    private func property(
        _ entityPath: EntityPath, _ property: PropertyPath, _ suffix: ResourcePath.Suffix
    ) async throws -> Version2Response {
        let record = try await handler.finder.found(entityPath)
        let value = property.inner.reduce(record[property.column.field]) { $0[$1] ?? .null }
        let headers: MountHeaders = ["ETag": EntityTag.text(record.revision)]
        switch suffix {
        case .none:
            let name = property.inner.last ?? property.column.property
            return Version2Response(
                headers: headers, content: .property(Version2Property(name: name, value: value, type: property.type)))
        case .value: return try raw(value, property, headers)
        default: throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }

    /// `$value`. A null has none.
    private func raw(_ value: WireValue, _ property: PropertyPath, _ headers: MountHeaders) throws -> Version2Response {
        if let bytes = value.dataValue {
            return Version2Response(
                headers: headers, content: .stored(bytes, StoredContent(property.mediaType(in: own.tables))))
        }
        let form = Version2ValueCodec(model: own.tables.model)
        guard !value.isNull || property.type.isCollection,
            let text = form.text(of: value, property.type) ?? form.document(value, property.type)
        else {
            throw PorticoError(.recordNotFound, "\(property.path) has no value.", target: property.path)
        }
        return .text(text, headers: headers)
    }
}

/// Handles requests with `!deltatoken`: a feed of new and changed entries, and tombstones of deleted ones (SAP's delta
/// queries; RFC 6721 in Atom).
struct Version2Changes: Sendable {
    private let own: Version2Handler

    init(_ own: Version2Handler) {
        self.own = own
    }

    func feed(_ collectionPath: EntityCollectionPath) async throws -> Version2Response {
        let request = own.request.plain
        let deltas = DeltaReading(own.handler)
        let answer = try await deltas.page(
            collectionPath, isCounted: request.target.options.contains(where: \.isCount), isWhole: true)
        let link = deltas.link(answer.token)
        var rows: [ResultRow] = []
        var removed: [String] = []
        for change in answer.page.changes {
            switch change {
            case .whole(let row), .within(let row, _): rows.append(row)
            case .gone(let id, _): removed.append(request.root + path(of: id, collectionPath.table))
            }
        }
        let most = own.handler.limits.query.expandedRows
        guard rows.reduce(0, { $0 + $1.entities }) <= max(most, rows.count) else {
            throw PorticoError(
                .requestLimitExceeded, "A page of changes has at most \(most) entities, expanded ones included.")
        }
        let level = try own.level(answer.page.shape, request.target.options)
        return Version2Response(
            content: .feed(
                Version2Feed(
                    level: level, rows: rows, count: answer.count, next: answer.page.isComplete ? nil : link,
                    delta: answer.page.isComplete ? link : nil, removed: removed)))
    }

    /// `Students(1)`, of an entity that is perhaps not there any more.
    private func path(of id: RecordID, _ table: RecordTable) -> String {
        let fields = table.keyFields(of: id, form: StoredValueCodec(model: own.tables.model))
        let form = Version2ValueCodec(model: own.tables.model)
        let parts = table.keyNames.map { name in
            guard let column = table.columns[name], let value = fields[column.field.text] else { return "\(name)=null" }
            let text = form.address(value, column.type)
            return table.keyNames.count == 1 ? text : "\(name)=\(text)"
        }
        return "\(table.source)(\(parts.joined(separator: ",")))"
    }
}
