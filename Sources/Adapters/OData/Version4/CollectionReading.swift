import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles `GET` of collections: pages, counts and references (Protocol 4.01, sections 11.2.6 and 11.2.11).
struct CollectionReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func page(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        let deltas = DeltaReading(handler)
        if deltas.isAskedForChanges { return try await deltas.changes(collectionPath) }
        let query = try await query(collectionPath)
        let plan = try handler.runner.plan(query, request.cachedQuery)
        let called = try await handler.runner.called(query, plan.shape)
        let rows: any PagePlan = called ?? plan
        let tracked =
            called == nil && deltas.isAskedToTrack ? try handler.runner.tracked(query, plan, request.cachedQuery) : nil
        let (form, writer) = (form(plan.shape, collectionPath), handler.writer)
        let body = try await handler.documents.body { snapshot, sink in
            var output = JSONOutput(to: sink)
            writer.begin(form.context, count: try rows.total(at: snapshot), to: &output)
            let next =
                called == nil && form.rows.takesFlatRows && plan.isFlat
                ? try plan.rows(
                    at: snapshot, each: { try form.rows.write(FlatRow(values: $0), with: writer, to: &output) },
                    thenSome: { try output.flush() })
                : try rows.rows(at: snapshot) { rows in
                    form.rows.write(rows, with: writer, to: &output)
                    try output.flush()
                }
            let token = try tracked.map { try deltas.token(try $0.mark(at: snapshot)) }
            writer.end(self.next(next, token), delta: next == nil ? token.map { deltas.link($0) } : nil, to: &output)
            try output.flush()
        }
        return handler.responses.json(body, headers: applied(tracked: tracked != nil))
    }

    /// Cached for all pages of a query.
    private func form(_ shape: ResultShape, _ collectionPath: EntityCollectionPath) -> PageTemplate {
        let make = {
            let context = ContextFragment(options: request.target.options, version: request.format.version)
            return PageTemplate(
                context: context.page(shape, collectionPath), rows: RowWriter(shape, handler.tables, request.format))
        }
        return request.cachedQuery?.version4Page(request.format, make) as? PageTemplate ?? make()
    }

    func references(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        let query = try await query(collectionPath)
        let plan = try handler.runner.plan(query, request.cachedQuery)
        let called = try await handler.runner.called(query, plan.shape)
        let (rows, writer): (any PagePlan, _) = (called ?? plan, handler.writer)
        return try await self.rows("Collection($ref)", rows) { row, output in
            writer.reference(row, plan.shape, to: &output)
        }
    }

    /// A page whose rows are written one by one.
    func rows(
        _ context: String, _ plan: some PagePlan, _ write: @escaping @Sendable (ResultRow, inout JSONOutput) -> Void
    ) async throws -> MountResponse {
        let writer = handler.writer
        let body = try await handler.documents.body { snapshot, sink in
            var output = JSONOutput(to: sink)
            writer.begin(context, count: try plan.total(at: snapshot), to: &output)
            let next = try plan.rows(at: snapshot) { rows in
                for row in rows where output.goesOn() { write(row, &output) }
                try output.flush()
            }
            writer.end(self.next(next), to: &output)
            try output.flush()
        }
        return handler.responses.json(body, headers: applied())
    }

    /// `/$count`: the number alone.
    func count(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        let deltas = DeltaReading(handler)
        if deltas.isAskedForChanges { return try await deltas.count(collectionPath) }
        let count = try await handler.runner.count(try await query(collectionPath), request.cachedQuery)
        return handler.responses.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
    }

    func query(_ collectionPath: EntityCollectionPath) async throws -> EntityQuery {
        EntityQuery(
            collectionPath.table.source,
            cast: collectionPath.type.name == collectionPath.table.type.name ? nil : collectionPath.type.name,
            base: try await handler.runner.base(collectionPath), options: request.target.options, pageSize: pageSize,
            now: handler.service.clock.now())
    }

    var pageSize: Int {
        let own = handler.service.configuration.pageSize
        return request.preferences.maximumPageSize.map { min($0, own) } ?? own
    }

    func applied(tracked: Bool = false, by format: ResponseFormat? = nil) -> MountHeaders {
        request.preferences.applied(format ?? request.format, pageSize: pageSize, tracked: tracked)
    }

    /// The same request with its place in the order, and where changes are tracked the place that they began at.
    func next(_ token: String?, _ delta: String? = nil) -> String? {
        guard let token else { return nil }
        let more = delta.map { [DeltaReading(handler).option($0)] } ?? []
        return request.root + request.address.adding(["$skiptoken=\(token)"] + more)
    }
}

/// The parts of a query's pages that are the same for all pages in one format.
struct PageTemplate: Sendable {
    /// The context's fragment.
    let context: String
    let rows: RowWriter
}
