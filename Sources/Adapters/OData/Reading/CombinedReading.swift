import AdapterKit
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Reads what is of several sets: `$crossjoin` and `$all` (URL Conventions 4.01, sections 4.15 and 4.16).
struct CombinedReading: Sendable {
    private let desk: ResourceDesk
    private var request: ServiceRequest { desk.request }
    private var tables: ServiceTables { desk.tables }

    init(_ desk: ResourceDesk) {
        self.desk = desk
    }

    func crossJoin(_ sources: [String]) async throws -> DoorAnswer {
        try ResourceDesk.only(["GET"], request)
        for source in sources where tables[source] == nil {
            throw PorticoError(.recordNotFound, "There is no entity set \(source).", target: source)
        }
        let reading = CollectionReading(desk)
        let query = CrossJoinQuery(
            sources, options: request.target.options, pageSize: reading.pageSize, now: desk.service.clock.now())
        let writer = desk.writer
        if query.isApplied {
            let plan = try desk.runner.applied(query)
            return try await reading.rows("Collection(Edm.ComplexType)", plan) { row, output in
                writer.write(row, plan.shape, to: &output)
            }
        }
        let plan = try desk.runner.plan(query)
        return try await reading.rows("Collection(Edm.ComplexType)", plan) { row, output in
            writer.crossJoin(row, plan.parts, to: &output)
        }
    }

    /// One set after the other, in the order of their names.
    func all(_ type: WrittenName?) async throws -> DoorAnswer {
        try ResourceDesk.only(["GET"], request)
        let sets = try sets(type)
        let reading = CollectionReading(desk)
        let walk = try SetWalk(sets, options: request.target.options, pageSize: reading.pageSize, desk.runner)
        let writer = desk.writer
        let body = try await desk.documents.body { moment, sink in
            var output = JSONOutput(to: sink)
            writer.begin("Collection(Edm.EntityType)", count: try walk.total(at: moment), to: &output)
            let next = try walk.rows(at: moment) { rows, shape, source in
                for row in rows where output.goesOn() {
                    writer.write(row, shape, context: "\(source)/$entity", to: &output)
                }
                try output.flush()
            }
            writer.end(reading.next(next), to: &output)
            try output.flush()
        }
        return desk.answers.json(body, headers: reading.applied())
    }

    /// Then sets without a full text have nothing that could be found.
    private var isSearching: Bool {
        request.target.options.contains { if case .search = $0.form { true } else { false } }
    }

    private func sets(_ type: WrittenName?) throws -> [SetWalk.Part] {
        let searched = isSearching ? desk.service.configuration.searched : nil
        let sets = tables.tables.values.filter { table in
            !table.isSingleton && tables.model.container.entitySet(table.source) != nil
                && searched?.contains(table.entity) ?? true
        }.sorted { $0.source < $1.source }
        guard let type else { return sets.map { SetWalk.Part(table: $0, cast: nil) } }
        let name = QualifiedName("\(type)").map(tables.model.resolve)
        guard let name, tables.model.structured(name)?.isEntity == true else {
            throw PorticoError(.recordNotFound, "There is no entity type \(type).", target: "\(type)")
        }
        return sets.compactMap { table in
            if tables.model.type(table.type.name, isA: name) { return SetWalk.Part(table: table, cast: nil) }
            return tables.model.type(name, isA: table.type.name) ? SetWalk.Part(table: table, cast: name) : nil
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
