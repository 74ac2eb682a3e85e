import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Results of operations as answers.
struct OperationAnswer: Sendable {
    private let desk: ResourceDesk
    private var request: ServiceRequest { desk.request }

    init(_ desk: ResourceDesk) {
        self.desk = desk
    }

    func answer(
        _ result: ServiceResult, of operation: SchemaOperation, _ call: OperationCall, _ suffix: Address.Suffix
    ) async throws -> DoorAnswer {
        switch result {
        case .nothing: return desk.answers.nothing()
        case .value(let value):
            guard !value.isNull, let type = operation.result else { return desk.answers.nothing() }
            return self.value(value, type, suffix)
        case .record(let set, let id): return try await entity(set, id)
        case .records(let set, let ids): return try await entities(set, ids, suffix)
        }
    }

    private func value(_ value: WireValue, _ type: TypeReference, _ suffix: Address.Suffix) -> DoorAnswer {
        if suffix == .value, let text = StoredForm(model: desk.tables.model).text(of: value, type: type) {
            return desk.answers.text(Array(text.utf8), type: "text/plain;charset=utf-8")
        }
        let values = ValueWriter(model: desk.tables.model, format: request.format)
        var output = JSONOutput()
        output.beginObject()
        desk.writer.context("\(type)", to: &output)
        if case .complex(let name) = type.type, !type.isCollection {
            values.members(value, name, to: &output)
        } else {
            output.key("value")
            values.write(value, type, to: &output)
        }
        output.endObject()
        return desk.answers.json(output.bytes)
    }

    private func entity(_ set: String, _ id: RecordID) async throws -> DoorAnswer {
        guard let table = desk.tables[set] else { return desk.answers.nothing() }
        let place = EntityPlace(table: table, type: table.type, origin: .key(id))
        return try await EntityReading(desk).representation(place, status: 200, headers: [:])
    }

    private func entities(_ set: String, _ ids: [RecordID], _ suffix: Address.Suffix) async throws -> DoorAnswer {
        guard let table = desk.tables[set] else { return desk.answers.nothing() }
        let query = EntityQuery(
            set, base: .records(ids), options: request.target.options,
            pageSize: max(ids.count, 1), now: desk.service.clock.now())
        if suffix == .count {
            let count = try await desk.runner.count(query)
            return desk.answers.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
        }
        let page = try await desk.runner.page(query)
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        let fragment = context.collection(EntitiesPlace(table: table, type: table.type, origin: .all))
        return desk.answers.json(
            desk.writer.collection(page, rows: ordered(page, ids, table), context: fragment, next: nil))
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
