import AdapterKit
import ODataModel
import ODataRecords

/// Loads rows of one set from an operator's file, or from a part of one: all of the call's rows or none. A row that is
/// refused is named by its place.
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
                    "mode", .choice(Mode.allCases.map(\.rawValue)), defaultValue: .string(Mode.append.rawValue),
                    summary: "Whether the entities that are there stay; `check` reads the rows and writes nothing."),
            ]), output: .object(outcome), audience: .operators)

    private enum Mode: String, CaseIterable {
        case append
        case replace
        case check
    }

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
        let mode = call["mode"].stringValue.flatMap(Mode.init(rawValue:)) ?? .append
        var changes: [RecordChange] = []
        let reading = RowReading(service: service, table: table, now: now)
        for (position, row) in rows.enumerated() {
            do {
                changes.append(try reading.creation(of: row))
            } catch let error as PorticoError {
                throw Self.refusal(error, position)
            }
        }
        if mode == .check { return Self.outcome(created: 0, deleted: 0) }
        let (removals, removed) = try await mode == .replace ? remove(table) : ([], 0)
        do {
            if !(removals.isEmpty && changes.isEmpty) { _ = try await records.apply(removals + changes) }
        } catch let error as PorticoError where error.code == .recordExists {
            throw try await taken(error, changes, isReplacing: mode == .replace)
        }
        return Self.outcome(created: rows.count, deleted: removed)
    }

    private static func outcome(created: Int, deleted: Int) -> OperationResult {
        .value(["created": .int64(Int64(created)), "deleted": .int64(Int64(deleted))])
    }

    private static func refusal(_ error: PorticoError, _ position: Int) -> PorticoError {
        PorticoError(error.code, error.message, target: "rows[\(position)].\(error.target ?? "")")
    }

    /// The same refusal, naming the first row whose key another row or record has.
    private func taken(
        _ error: PorticoError, _ changes: [RecordChange], isReplacing: Bool
    ) async throws -> PorticoError {
        var seen: Set<RecordID> = []
        for (position, change) in changes.enumerated() {
            guard case .create(let id?, _) = change.action else { continue }
            if !seen.insert(id).inserted { return Self.refusal(error, position) }
            if !isReplacing, try await records.record(id, in: change.entity) != nil {
                return Self.refusal(error, position)
            }
        }
        return error
    }

    /// Deletions of what is there, and how many records leave in all. Only the last of them are left to the caller's
    /// transaction: as many as one page has, so that a large set needs no more memory than a small one.
    private func remove(_ table: RecordTable) async throws -> (last: [RecordChange], count: Int) {
        var count = 0
        while true {
            let page = try await records.query(Query(limit: Query.maximumLimit), in: table.entity)
            let deletions = page.records.map { RecordChange(table.entity, .delete($0.id)) }
            count += deletions.count
            guard page.next != nil else { return (deletions, count) }
            _ = try await records.apply(deletions)
        }
    }
}

/// From a file's row to a record that is to be created.
private struct RowReading {
    private let service: ServiceConfiguration
    private let table: RecordTable
    private let row: ImportedRow
    private let server: ServerValues
    private let form: StoredForm
    private let needsKeyField: Bool
    /// By name, where each property is kept: asked for every value of every row. Nil where the server gives values too.
    private let places: [String: (type: TypeReference, field: FieldName)]?
    private let reader: ValueReader

    init(service: ServiceConfiguration, table: RecordTable, now: WireDate) {
        self.service = service
        self.table = table
        row = ImportedRow(model: service.model)
        server = ServerValues(tables: service.tables, now: now)
        form = StoredForm(model: service.model)
        needsKeyField = table.columns.values.allSatisfy { $0.field != table.keyField }
        reader = ValueReader(model: service.model)
        let isPlain = table.discriminator == nil && !table.type.isOpen && server.givesNothing(table.type)
        places =
            isPlain
            ? Dictionary(
                table.type.properties.compactMap { property in
                    table.columns[property.name].map { (property.name, (property.type, $0.field)) }
                }, uniquingKeysWith: { $1 }) : nil
    }

    /// Throws `request.invalid` for a value that is none of its property's, with the property as the target.
    func creation(of given: WireValue) throws -> RecordChange {
        let payload: EntityPayload
        do {
            if let fields = try plainFields(given) { return try creation(fields) }
            payload = try EntityPayload(
                row.typed(given, table.type), of: table, declared: table.type, model: service.model)
        } catch {
            throw row.explained(error, given, table)
        }
        var values = server.creating(payload.type, payload.values)
        for (name, value) in payload.values { values[name] = value }
        var fields = WireDictionary()
        for (name, value) in values {
            if let column = table.columns[name] { fields[column.field.text] = value }
        }
        if let discriminator = table.discriminator {
            fields[discriminator.text] = .string(payload.type.name.description)
        }
        return try creation(fields)
    }

    /// The row's fields where it has values of declared properties only; nil for any other.
    private func plainFields(_ given: WireValue) throws(PorticoError) -> WireDictionary? {
        guard let places, case .dictionary(let members) = given else { return nil }
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(members.count + 1)
        for member in members {
            guard let place = places[member.key] else { return nil }
            let value = try reader.value(row.value(member.value, place.type), place.type, at: member.key)
            entries.append(WireDictionary.Entry(key: place.field.text, value: value))
        }
        return WireDictionary(uncheckedUniqueKeys: entries)
    }

    private func creation(_ given: WireDictionary) throws(PorticoError) -> RecordChange {
        var fields = given
        if case .property(let name) = table.key, let column = table.columns[name], fields[column.field.text] == nil,
            service.model.primitive(behind: column.type.type) == .guid
        {
            fields[column.field.text] = .string(RandomGUID.next())
        }
        guard let id = table.recordID(fields: fields, form: form) else {
            throw PorticoError(.requestInvalid, "The key is missing.", target: table.keyNames.first)
        }
        if needsKeyField { fields[table.keyField.text] = .string(id.text) }
        return RecordChange(table.entity, .create(id, fields))
    }
}
