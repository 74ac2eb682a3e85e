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
                let told = ImportedRow(model: service.model).explained(error, row, table.type)
                throw PorticoError(told.code, told.message, target: "rows[\(position)].\(told.target ?? "")")
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

/// A row of a file whose values are all texts, as CSV has them: each is taken for what its property is. SQLite's own forms
/// of dates and truth values are read too.
struct ImportedRow {
    /// Characters of a refused value that an error tells.
    private static let toldCharacters = 40

    let model: EntityDataModel

    /// The error with the value at fault and the form that is wanted, where it is about a property's value.
    func explained(_ error: PorticoError, _ row: WireValue, _ type: StructuredType) -> PorticoError {
        guard let name = error.target, let property = type.property(name), let value = row[name], !value.isNull,
            let form = form(property.type)
        else { return error }
        let text = value.stringValue ?? value.decimalValue.map { "\($0)" } ?? value.boolValue.map { "\($0)" }
        guard let text else { return error }
        let told = text.count > Self.toldCharacters ? "\(text.prefix(Self.toldCharacters))…" : text
        return PorticoError(error.code, "\(error.message) \"\(told)\" is not \(form).", target: name)
    }

    private func form(_ type: TypeReference) -> String? {
        guard !type.isCollection, let primitive = model.primitive(behind: type.type) else { return nil }
        if case .enumeration = type.type { return "one of its members" }
        if let range = primitive.integerRange {
            return "a whole number from \(range.lowerBound) to \(range.upperBound)"
        }
        switch primitive {
        case .boolean: return "true, false, 1 or 0"
        case .decimal, .double, .single: return "a number like 12.5 that it holds"
        case .date: return "a day like 2024-01-31"
        case .dateTimeOffset: return "an instant like 2024-01-31T10:30:00Z or 2024-01-31 10:30:00, which is UTC"
        case .timeOfDay: return "a time like 10:30:00"
        case .duration: return "a duration like PT1H30M"
        case .guid: return "an identifier like 01234567-89ab-cdef-0123-456789abcdef"
        case .binary: return "bytes in base64url"
        case .string: return "a text that it holds"
        default: return nil
        }
    }

    func typed(_ row: WireValue, _ type: StructuredType) -> WireValue {
        guard case .dictionary(let members) = row else { return row }
        var typed = WireDictionary()
        for member in members {
            typed[member.key] = type.property(member.key).map { value(member.value, $0.type) } ?? member.value
        }
        return .dictionary(typed)
    }

    private func value(_ value: WireValue, _ type: TypeReference) -> WireValue {
        guard !type.isCollection else { return value }
        let primitive = model.primitive(behind: type.type)
        if primitive == .boolean, let number = value.int64Value, 0...1 ~= number { return .bool(number == 1) }
        guard case .string(let text) = value else { return value }
        switch primitive {
        case .boolean: return Self.truthValues[text.lowercased()].map(WireValue.bool) ?? value
        case .dateTimeOffset: return .string(Self.instant(text))
        case .date: return .string(text.hasSuffix(" 00:00:00") ? String(text.dropLast(9)) : text)
        case .byte, .sByte, .int16, .int32, .int64: return Int64(text).map(WireValue.int64) ?? value
        case .double, .single: return Double(text).map(WireValue.double) ?? value
        default: return value
        }
    }

    private static let truthValues = ["true": true, "false": false, "1": true, "0": false]

    /// `2024-01-31`, `2024-01-31 10:30[:00[.5]]` and the same with `T`, which SQLite means in UTC; others as they are.
    private static func instant(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else { return text }
        guard bytes.count > 10 else { return text + "T00:00:00Z" }
        guard bytes[10] == UInt8(ascii: " ") || bytes[10] == UInt8(ascii: "T") else { return text }
        let (day, rest) = (text.prefix(10), text.dropFirst(11))
        guard let zone = rest.firstIndex(where: { "Zz+-".contains($0) }) else {
            return "\(day)T\(rest)\(rest.utf8.count == 5 ? ":00" : "")Z"
        }
        return "\(day)T\(rest[..<zone])\(rest[zone...])"
    }
}
