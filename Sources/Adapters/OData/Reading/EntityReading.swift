import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Single entities.
struct EntityReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func entity(_ place: EntityPlace) async throws -> MountResponse {
        guard let (row, shape) = try await row(place, options: request.target.options) else {
            // A navigation property that leads nowhere is no error (section 11.2.7).
            if case .related(let source, _, _) = place.origin {
                _ = try await handler.finder.found(source)
                return handler.answers.nothing()
            }
            throw PorticoError(.recordNotFound, "There is no such entity.", target: place.table.source)
        }
        let tag = RowIdentity(tables: handler.tables).tag(row, shape)
        if let tag, let field = request.headers["If-Match"], !Self.matches(field, tag) { throw WriteConditions.failed }
        if let tag, let field = request.headers["If-None-Match"], Self.matches(field, tag) {
            return handler.answers.nothing(304, headers: ["ETag": tag])
        }
        return answer(row, shape, place, tag: tag)
    }

    /// The entity as it is now, for answers to writes. Only what shapes the answer is taken from the request.
    func representation(
        _ place: EntityPlace, status: Int, headers: MountHeaders, expanding nested: QueryOption? = nil
    ) async throws -> MountResponse {
        var options = request.target.options.filter { option in
            switch option.form {
            case .select, .expand, .compute, .alias: true
            default: false
            }
        }
        if let nested, !options.contains(where: { if case .expand = $0.form { true } else { false } }) {
            options.append(nested)
        }
        guard let (row, shape) = try await row(place, options: options) else {
            return handler.answers.nothing(headers: headers)
        }
        return answer(
            row, shape, place, tag: RowIdentity(tables: handler.tables).tag(row, shape), status: status,
            headers: headers,
            options: options)
    }

    private func answer(
        _ row: ResultRow, _ shape: ResultShape, _ place: EntityPlace, tag: String?, status: Int = 200,
        headers: MountHeaders = [:], options: [QueryOption]? = nil
    ) -> MountResponse {
        let context = ContextFragment(options: options ?? request.target.options, version: request.format.version)
        let body = handler.writer.entity(row, shape, context: context.entity(place))
        var headers = headers
        headers["ETag"] = tag
        for field in request.preferences.applied(request.format).fields {
            headers[field.name] = (headers[field.name].map { "\($0), " } ?? "") + field.value
        }
        return handler.answers.json(body, status: status, headers: headers)
    }

    func row(_ place: EntityPlace, options: [QueryOption]) async throws -> (ResultRow, ResultShape)? {
        let query = EntityQuery(
            place.table.source, cast: place.type.name == place.table.type.name ? nil : place.type.name,
            base: try await handler.runner.base(place), options: options, pageSize: 1, now: handler.service.clock.now())
        let page = try await handler.runner.page(query)
        return page.rows.first.map { ($0, page.shape) }
    }

    static func matches(_ field: String, _ tag: String) -> Bool {
        guard let revisions = EntityTag.revisions(field) else { return true }
        return revisions.contains { EntityTag.text($0) == tag }
    }
}
