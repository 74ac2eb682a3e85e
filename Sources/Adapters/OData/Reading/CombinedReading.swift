import AdapterKit
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Reads what is of several sets: `$crossjoin` and `$all` (URL Conventions 4.01, sections 4.15 and 4.16).
struct CombinedReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func crossJoin(_ sources: [String]) async throws -> MountResponse {
        try ResourceHandler.only(["GET"], request)
        try OptionRules(request).checkCombined()
        for source in sources where tables[source] == nil {
            throw PorticoError(.recordNotFound, "There is no entity set \(source).", target: source)
        }
        let reading = CollectionReading(handler)
        let query = CrossJoinQuery(
            sources, options: request.target.options, pageSize: reading.pageSize, now: handler.service.clock.now())
        let writer = handler.writer
        if query.isApplied {
            let plan = try handler.runner.applied(query)
            return try await reading.rows("Collection(Edm.ComplexType)", plan) { row, output in
                writer.write(row, plan.shape, to: &output)
            }
        }
        let plan = try handler.runner.plan(query)
        return try await reading.rows("Collection(Edm.ComplexType)", plan) { row, output in
            writer.crossJoin(row, plan.parts, to: &output)
        }
    }

    /// One set after the other, in the order of their names.
    func all(_ type: WrittenName?) async throws -> MountResponse {
        try ResourceHandler.only(["GET"], request)
        try OptionRules(request).checkCombined()
        let sets = try sets(type)
        let reading = CollectionReading(handler)
        let walk = try MultiSetPaging(sets, options: request.target.options, pageSize: reading.pageSize, handler.runner)
        let writer = handler.writer
        let body = try await handler.documents.body { snapshot, sink in
            var output = JSONOutput(to: sink)
            writer.begin("Collection(Edm.EntityType)", count: try walk.total(at: snapshot), to: &output)
            let next = try walk.rows(at: snapshot) { rows, shape, source in
                for row in rows where output.goesOn() {
                    writer.write(row, shape, context: "\(source)/$entity", to: &output)
                }
                try output.flush()
            }
            writer.end(reading.next(next), to: &output)
            try output.flush()
        }
        return handler.answers.json(body, headers: reading.applied())
    }

    /// Then sets without a full text have nothing that could be found.
    private var isSearching: Bool {
        request.target.options.contains { if case .search = $0.form { true } else { false } }
    }

    private func sets(_ type: WrittenName?) throws -> [MultiSetPaging.Part] {
        let searched = isSearching ? handler.service.configuration.searched : nil
        let sets = tables.tables.values.filter { table in
            !table.isSingleton && tables.model.container.entitySet(table.source) != nil
                && searched?.contains(table.entity) ?? true
        }.sorted { $0.source < $1.source }
        guard let type else { return sets.map { MultiSetPaging.Part(table: $0, cast: nil) } }
        let name = QualifiedName("\(type)").map(tables.model.resolve)
        guard let name, tables.model.structured(name)?.isEntity == true else {
            throw PorticoError(.recordNotFound, "There is no entity type \(type).", target: "\(type)")
        }
        return sets.compactMap { table in
            if tables.model.type(table.type.name, isA: name) { return MultiSetPaging.Part(table: table, cast: nil) }
            return tables.model.type(name, isA: table.type.name) ? MultiSetPaging.Part(table: table, cast: name) : nil
        }
    }
}

extension ResultWriter {
    func crossJoin(_ row: ResultRow, _ parts: [CrossJoinPart], to output: inout JSONOutput) {
        output.beginObject()
        for part in parts {
            let own = part.row(of: row)
            if part.isExpanded {
                output.key(part.source)
                write(own, part.shape, to: &output)
            } else if format.metadata != .none, let path = RowIdentity(tables: tables).path(own, part.shape) {
                output.member("\(part.source)@odata.navigationLink", path)
            }
        }
        output.endObject()
    }
}
