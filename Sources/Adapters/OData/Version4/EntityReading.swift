import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles `GET` of single entities, and writes the entity in responses to writes.
struct EntityReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func entity(_ entityPath: EntityPath) async throws -> MountResponse {
        guard let (row, shape) = try await row(entityPath, options: request.target.options) else {
            // A navigation property that leads nowhere is no error (section 11.2.7).
            if case .related(let source, _, _) = entityPath.origin {
                _ = try await handler.finder.found(source)
                return handler.responses.nothing()
            }
            throw PorticoError(.recordNotFound, "There is no such entity.", target: entityPath.table.source)
        }
        let tag = RowIdentity(tables: handler.tables).tag(row, shape)
        if let tag, let field = request.headers["If-Match"], !Self.matches(field, tag) { throw WriteConditions.failed }
        if let tag, let field = request.headers["If-None-Match"], Self.matches(field, tag) {
            return handler.responses.nothing(304, headers: ["ETag": tag])
        }
        return answer(row, shape, entityPath, tag: tag)
    }

    /// The entity as it is now, for answers to writes. Only what shapes the answer is taken from the request.
    func representation(
        _ entityPath: EntityPath, status: Int, headers: MountHeaders, expanding nested: QueryOption? = nil
    ) async throws -> MountResponse {
        let options = shaping(expanding: nested)
        guard let (row, shape) = try await row(entityPath, options: options) else {
            return handler.responses.nothing(headers: headers)
        }
        return answer(
            row, shape, entityPath, tag: RowIdentity(tables: handler.tables).tag(row, shape), status: status,
            headers: headers,
            options: options)
    }

    /// Throws what would keep this request from being answered with an entity of the set, such as what its caller may not
    /// read. To be asked before anything is changed.
    func checkRepresentation(of table: RecordTable, expanding nested: QueryOption? = nil) async throws {
        try await handler.runner.check(
            EntityQuery(
                table.source, base: .records([]), options: shaping(expanding: nested), pageSize: 1,
                now: handler.service.clock.now()))
    }

    private func shaping(expanding nested: QueryOption?) -> [QueryOption] {
        var options = request.target.options.filter { option in
            switch option.form {
            case .select, .expand, .compute, .alias: true
            default: false
            }
        }
        if let nested, !options.contains(where: { if case .expand = $0.form { true } else { false } }) {
            options.append(nested)
        }
        return options
    }

    private func answer(
        _ row: ResultRow, _ shape: ResultShape, _ entityPath: EntityPath, tag: String?, status: Int = 200,
        headers: MountHeaders = [:], options: [QueryOption]? = nil
    ) -> MountResponse {
        let context = ContextFragment(options: options ?? request.target.options, version: request.format.version)
        let body = handler.writer.entity(row, shape, context: context.entity(entityPath))
        var headers = headers
        headers["ETag"] = tag
        for field in request.preferences.applied(request.format).fields {
            headers[field.name] = (headers[field.name].map { "\($0), " } ?? "") + field.value
        }
        return handler.responses.json(body, status: status, headers: headers)
    }

    func row(_ entityPath: EntityPath, options: [QueryOption]) async throws -> (ResultRow, ResultShape)? {
        let query = EntityQuery(
            entityPath.table.source,
            cast: entityPath.type.name == entityPath.table.type.name ? nil : entityPath.type.name,
            base: try await handler.runner.base(entityPath), options: options, pageSize: 1,
            now: handler.service.clock.now())
        return try await handler.runner.row(query)
    }

    static func matches(_ field: String, _ tag: String) -> Bool {
        guard let revisions = EntityTag.revisions(field) else { return true }
        return revisions.contains { EntityTag.text($0) == tag }
    }
}
