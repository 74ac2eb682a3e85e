import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Pages of entities (Protocol 4.01, sections 11.2.6 and 11.2.11).
struct CollectionReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func page(_ place: EntityCollectionPath) async throws -> MountResponse {
        let deltas = DeltaReading(handler)
        if deltas.isAskedForChanges { return try await deltas.changes(place) }
        let query = try await query(place)
        let plan = try handler.runner.plan(query, request.cachedQuery)
        let tracked = deltas.isAskedToTrack ? try handler.runner.tracked(query, plan, request.cachedQuery) : nil
        let (form, writer) = (form(plan.shape, place), handler.writer)
        let body = try await handler.documents.body { snapshot, sink in
            var output = JSONOutput(to: sink)
            writer.begin(form.context, count: try plan.total(at: snapshot), to: &output)
            let next =
                form.rows.takesFlatRows && plan.isFlat
                ? try plan.rows(
                    at: snapshot, each: { try form.rows.write(FlatRow(values: $0), with: writer, to: &output) },
                    thenSome: { try output.flush() })
                : try plan.rows(at: snapshot) { rows in
                    form.rows.write(rows, with: writer, to: &output)
                    try output.flush()
                }
            let token = try tracked.map { try deltas.token(try $0.mark(at: snapshot)) }
            writer.end(self.next(next, token), delta: next == nil ? token.map { deltas.link($0) } : nil, to: &output)
            try output.flush()
        }
        return handler.answers.json(body, headers: applied(tracked: tracked != nil))
    }

    /// The same for all pages of a question.
    private func form(_ shape: ResultShape, _ place: EntityCollectionPath) -> PageForm {
        let make = {
            let context = ContextFragment(options: request.target.options, version: request.format.version)
            return PageForm(
                context: context.page(shape, place), rows: RowWriter(shape, handler.tables, request.format))
        }
        return request.cachedQuery?.page(request.format, make) ?? make()
    }

    func references(_ place: EntityCollectionPath) async throws -> MountResponse {
        let plan = try handler.runner.plan(try await query(place), request.cachedQuery)
        let writer = handler.writer
        return try await rows("Collection($ref)", plan) { row, output in
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
        return handler.answers.json(body, headers: applied())
    }

    /// `/$count`: the number alone.
    func count(_ place: EntityCollectionPath) async throws -> MountResponse {
        let deltas = DeltaReading(handler)
        if deltas.isAskedForChanges { return try await deltas.count(place) }
        let count = try await handler.runner.count(try await query(place), request.cachedQuery)
        return handler.answers.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
    }

    func query(_ place: EntityCollectionPath) async throws -> EntityQuery {
        EntityQuery(
            place.table.source, cast: place.type.name == place.table.type.name ? nil : place.type.name,
            base: try await handler.runner.base(place), options: request.target.options, pageSize: pageSize,
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

extension ResourceHandler {
    var documents: DocumentReading {
        DocumentReading(
            records: request.records, limits: limits, address: request.address, long: service.long)
    }

    var runner: QueryRunner {
        QueryRunner(tables: tables, records: request.records, now: service.clock.now(), limits: limits.query)
    }
}
