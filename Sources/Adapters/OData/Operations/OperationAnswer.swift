import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Results of operations as answers.
struct OperationAnswer: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(
        _ result: ServiceResult, of operation: SchemaOperation, _ call: OperationCall, _ suffix: Address.Suffix
    ) async throws -> MountResponse {
        switch result {
        case .nothing: return handler.answers.nothing()
        case .value(let value):
            guard !value.isNull, let type = operation.result else { return handler.answers.nothing() }
            return self.value(value, type, suffix)
        case .record(let set, let id): return try await entity(set, id)
        case .records(let set, let ids): return try await entities(set, ids, suffix)
        }
    }

    private func value(_ value: WireValue, _ type: TypeReference, _ suffix: Address.Suffix) -> MountResponse {
        if suffix == .value, let text = StoredForm(model: handler.tables.model).text(of: value, type: type) {
            return handler.answers.text(Array(text.utf8), type: "text/plain;charset=utf-8")
        }
        let values = ValueWriter(model: handler.tables.model, format: request.format)
        var output = JSONOutput()
        output.beginObject()
        handler.writer.context("\(type)", to: &output)
        if case .complex(let name) = type.type, !type.isCollection {
            values.members(value, name, to: &output)
        } else {
            output.key("value")
            values.write(value, type, to: &output)
        }
        output.endObject()
        return handler.answers.json(output.bytes)
    }

    private func entity(_ set: String, _ id: RecordID) async throws -> MountResponse {
        guard let table = handler.tables[set] else { return handler.answers.nothing() }
        let place = EntityPlace(table: table, type: table.type, origin: .key(id))
        return try await EntityReading(handler).representation(place, status: 200, headers: [:])
    }

    private func entities(_ set: String, _ ids: [RecordID], _ suffix: Address.Suffix) async throws -> MountResponse {
        guard let table = handler.tables[set] else { return handler.answers.nothing() }
        let query = EntityQuery(
            set, base: .records(ids), options: request.target.options,
            pageSize: max(ids.count, 1), now: handler.service.clock.now())
        if suffix == .count {
            let count = try await handler.runner.count(query)
            return handler.answers.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
        }
        let page = try await handler.runner.page(query)
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        let fragment = context.collection(EntityCollectionPath(table: table, type: table.type, origin: .all))
        return handler.answers.json(
            handler.writer.collection(page, rows: ordered(page, ids, table), context: fragment, next: nil))
    }

    /// In the operation's order, where the request asks for no other.
    func ordered(_ page: ResultPage, _ ids: [RecordID], _ table: RecordTable) -> [ResultRow] {
        let asksForOrder = request.target.options.contains { option in
            switch option.form {
            case .orderBy, .apply: true
            default: false
            }
        }
        guard !asksForOrder, table.keyNames.count == 1,
            let key = page.shape.columns.firstIndex(where: { $0.path == table.keyNames })
        else { return page.rows }
        let places = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return page.rows.sorted { left, right in
            (RecordID(key: left.values[key]).flatMap { places[$0] } ?? .max)
                < (RecordID(key: right.values[key]).flatMap { places[$0] } ?? .max)
        }
    }
}
