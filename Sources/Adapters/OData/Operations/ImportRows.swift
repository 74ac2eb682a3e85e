import AdapterKit
import ODataModel
import ODataRecords

/// Loads rows of one set from an operator's file, all of them or none; a row that is refused is named by its place.
struct ImportRows: Sendable {
    static let operation = Operation(
        "import", summary: "Loads rows of a set, all of them or none.", effect: .writes,
        input: ObjectShape(
            "ODataImport",
            members: [
                Member("service", .string(maximumLength: 64), isRequired: true, summary: "The service's name."),
                Member("set", .string(maximumLength: 128), isRequired: true, summary: "The set's name."),
                Member("rows", .list(of: .any), isRequired: true, summary: "Rows in OData's JSON, or texts of it."),
                Member(
                    "mode", .choice(["append", "replace"]), defaultValue: "append",
                    summary: "Whether the entities that are there stay."),
            ]), output: .object(outcome), deadline: .seconds(600), audience: .operators)

    private static let outcome = ObjectShape(
        "ODataImportOutcome",
        members: ["created", "deleted"].map { (name: FieldName) in Member(name, .integer, isRequired: true) })

    private let services: [ServiceConfiguration]
    private let records: any RecordStore
    private let now: WireDate

    init(_ services: [ServiceConfiguration], records: any RecordStore, now: WireDate) {
        self.services = services
        self.records = records
        self.now = now
    }

    func perform(_ call: Call) async throws -> OperationResult {
        guard let service = services.first(where: { .string($0.name) == call["service"] }) else {
            throw PorticoError(.recordNotFound, "There is no such service.", target: "service")
        }
        guard let table = service.tables[call["set"].stringValue ?? ""] else {
            throw PorticoError(.recordNotFound, "\(service.name) has no such set.", target: "set")
        }
        let rows = call["rows"].arrayValue ?? []
        let most = service.limits.importRows
        guard rows.count <= most else {
            throw PorticoError(.requestLimitExceeded, "An import has at most \(most) rows.", target: "rows")
        }
        var changes = ChangeSet()
        let deleted = try await call["mode"] == "replace" ? remove(table, &changes) : 0
        for (position, row) in rows.enumerated() {
            do {
                try add(row, table, service, &changes)
            } catch let error as PorticoError {
                throw PorticoError(error.code, error.message, target: "rows[\(position)].\(error.target ?? "")")
            }
        }
        if !changes.changes.isEmpty { _ = try await records.apply(changes.changes) }
        return .value(["created": .int64(Int64(rows.count)), "deleted": .int64(Int64(deleted))])
    }

    private func remove(_ table: RecordTable, _ changes: inout ChangeSet) async throws -> Int {
        var count = 0
        var query = Query(limit: Query.maximumLimit)
        while true {
            let page = try await records.query(query, in: table.entity)
            for record in page.records { changes.add(RecordChange(table.entity, .delete(record.id))) }
            count += page.records.count
            guard let next = page.next else { return count }
            query.start = .after(next)
        }
    }

    private func add(
        _ row: WireValue, _ table: RecordTable, _ service: ServiceConfiguration, _ changes: inout ChangeSet
    ) throws {
        let typed = ImportedRow(model: service.model).typed(row, table.type)
        let payload = try EntityPayload(typed, of: table, declared: table.type, model: service.model)
        var fields = WireDictionary()
        var values = ServerValues(tables: service.tables, now: now).creating(payload.type, payload.values)
        for (name, value) in payload.values { values[name] = value }
        for (name, value) in values {
            if let column = table.columns[name] { fields[column.field.text] = value }
        }
        if let discriminator = table.discriminator {
            fields[discriminator.text] = .string(payload.type.name.description)
        }
        if case .property(let name) = table.key, values[name] == nil, let column = table.columns[name],
            service.model.primitive(behind: column.type.type) == .guid
        {
            fields[column.field.text] = .string(RandomGUID.next())
        }
        guard let id = table.recordID(fields: fields, form: StoredForm(model: service.model)) else {
            throw PorticoError(.requestInvalid, "The key is missing.", target: table.keyNames.first)
        }
        if table.columns.values.allSatisfy({ $0.field != table.keyField }) {
            fields[table.keyField.text] = .string(id.text)
        }
        changes.create(id, fields, in: table.entity)
    }
}

/// A row of a file whose values are all texts, as CSV has them: each is taken for what its property is.
struct ImportedRow {
    let model: EntityDataModel

    func typed(_ row: WireValue, _ type: StructuredType) -> WireValue {
        guard case .dictionary(let members) = row else { return row }
        var typed = WireDictionary()
        for member in members {
            typed[member.key] = type.property(member.key).map { value(member.value, $0.type) } ?? member.value
        }
        return .dictionary(typed)
    }

    private func value(_ value: WireValue, _ type: TypeReference) -> WireValue {
        guard case .string(let text) = value, !type.isCollection else { return value }
        switch model.primitive(behind: type.type) {
        case .boolean: return text == "true" ? true : text == "false" ? false : value
        case .byte, .sByte, .int16, .int32, .int64: return Int64(text).map(WireValue.int64) ?? value
        case .double, .single: return Double(text).map(WireValue.double) ?? value
        default: return value
        }
    }
}
