import AdapterKit
import CSV
import ODataEngine
import ODataModel

/// Imports rows of one set from an operator's file or a part of it, in one transaction. A rejected row is named by its
/// position.
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
                Member("columns", .list(of: .string), summary: "Those that the header of a CSV file names."),
                Member(
                    "keeps", .integer, defaultValue: 0, acceptsText: true,
                    summary: "Of a file in parts: how many entities that are there its later parts have again."),
                ReplacementLoss.member,
            ]), output: .object(outcome), audience: .operators)

    private enum Mode: String, CaseIterable {
        case append
        case replace
        case check
    }

    private static let outcome = ObjectShape(
        "ODataImportOutcome",
        members: ["created", "deleted"].map { (name: FieldName) in Member(name, .integer, isRequired: true) } + [
            Member("kept", .integer, summary: "Of a check: entities that are there and among the rows.")
        ])

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
            let known = services.map(\.name).joined(separator: ", ")
            throw PorticoError(
                .recordNotFound, "There is no such service. There are: \(known).", target: "service")
        }
        if let upstream = service.upstream {
            throw PorticoError(
                .requestInvalid, "The entities of \(service.name) are those of the system \(upstream.name).",
                target: "service")
        }
        guard let table = service.tables[call["set"].stringValue ?? ""] else {
            let known = service.tables.tables.values.map(\.source).sorted().joined(separator: ", ")
            throw PorticoError(
                .recordNotFound, "\(service.name) has no such set. There are: \(known).", target: "set")
        }
        let rows = call["rows"].arrayValue ?? []
        let most = service.limits.importRows
        guard rows.count <= most else {
            throw PorticoError(.requestLimitExceeded, "An import has at most \(most) rows.", target: "rows")
        }
        let mode = call["mode"].stringValue.flatMap(Mode.init(rawValue:)) ?? .append
        try requireColumns(call["columns"].arrayValue?.compactMap(\.stringValue), of: table, service.model)
        let changes = try await changes(of: rows, by: RowReading(service: service, table: table, now: now))
        try requireDistinct(changes)
        if mode == .check { return Self.outcome(kept: try await kept(changes, of: table)) }
        if mode == .replace, call[ReplacementLoss.member.name].boolValue != true {
            let later = Int(clamping: call["keeps"].int64Value ?? 0)
            try await checkLoss(changes, of: table, laterKept: max(later, 0))
        }
        let (removals, removed) = try await mode == .replace ? remove(table) : ([], 0)
        do {
            if !(removals.isEmpty && changes.isEmpty) { _ = try await records.apply(removals + changes) }
        } catch let error as PorticoError where error.code == .recordExists {
            throw mode == .replace ? error : try await taken(error, changes)
        }
        return Self.outcome(created: rows.count, deleted: removed)
    }

    /// Rows that one task reads: enough for the task to cost little.
    private static let rowsOfTask = 1_250

    /// The rows' creations, in order. Throws for the first row that is refused.
    private func changes(of rows: [WireValue], by reading: RowReading) async throws -> [RecordChange] {
        typealias Part = (first: Int, result: Result<[RecordChange], PorticoError>)
        let parts = await withTaskGroup(of: Part.self) { group in
            for first in stride(from: 0, to: rows.count, by: Self.rowsOfTask) {
                group.addTask {
                    var (own, changes) = (reading, [RecordChange]())
                    for position in first..<min(first + Self.rowsOfTask, rows.count) {
                        do throws(PorticoError) {
                            changes.append(try own.creation(of: rows[position]))
                        } catch {
                            return (first, .failure(Self.refusal(error, position)))
                        }
                    }
                    return (first, .success(changes))
                }
            }
            return await group.reduce(into: [Part]()) { $0.append($1) }
        }
        return try parts.sorted { $0.first < $1.first }.flatMap { try $0.result.get() }
    }

    private static func outcome(created: Int = 0, deleted: Int = 0, kept: Int? = nil) -> OperationResult {
        var outcome: WireDictionary = ["created": .int64(Int64(created)), "deleted": .int64(Int64(deleted))]
        outcome["kept"] = kept.map { .int64(Int64($0)) }
        return .value(.dictionary(outcome))
    }

    /// Throws `request.invalid` for a header with a name that no entity of the set has.
    private func requireColumns(_ columns: [String]?, of table: RecordTable, _ model: EntityDataModel) throws {
        guard let columns else { return }
        let types = [table.type] + table.family.compactMap { model.structured($0) }
        let names = types.flatMap { $0.properties.map(\.name) + $0.navigation.map { "\($0.name)@odata.bind" } }
        let isOpen = types.contains(where: \.isOpen)
        let known = isOpen ? nil : names.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        do {
            try CSVColumns(known: known.map { $0 + ["@odata.type"] }, required: []).check(columns)
        } catch {
            throw error.error
        }
    }

    /// Keys that are looked up at once.
    private static let keysOfQuery = 500

    /// How many of the entities that are there are among the rows.
    private func kept(_ changes: [RecordChange], of table: RecordTable) async throws -> Int {
        var seen: Set<RecordID> = []
        let keys = changes.compactMap { change -> WireValue? in
            guard case .create(let id?, let fields) = change.action, seen.insert(id).inserted else { return nil }
            return fields[table.keyField.text]
        }
        var count = 0
        for first in stride(from: 0, to: keys.count, by: Self.keysOfQuery) {
            let some = Array(keys[first..<min(first + Self.keysOfQuery, keys.count)])
            count += try await records.count(.oneOf(table.keyField, some), in: table.entity)
        }
        return count
    }

    /// Throws `record.conflict` where the set would lose most of what it has.
    private func checkLoss(_ changes: [RecordChange], of table: RecordTable, laterKept: Int) async throws {
        let present = try await records.count(nil, in: table.entity)
        guard present >= ReplacementLoss.least || changes.isEmpty else { return }
        let kept = min(present, try await kept(changes, of: table) + laterKept)
        try ReplacementLoss(present: present, deleted: present - kept, hasRows: !changes.isEmpty).check()
    }

    private static func refusal(_ error: PorticoError, _ position: Int) -> PorticoError {
        PorticoError(error.code, error.message, target: "rows[\(position)].\(error.target ?? "")")
    }

    /// Throws `request.invalid` for the first row whose key an earlier one has, before anything is removed for them. The
    /// earlier row stands at the beginning of the message: `rows[3]`.
    private func requireDistinct(_ changes: [RecordChange]) throws(PorticoError) {
        var seen: [RecordID: Int] = [:]
        seen.reserveCapacity(changes.count)
        for (position, change) in changes.enumerated() {
            guard case .create(let id?, _) = change.action,
                let earlier = seen.updateValue(position, forKey: id)
            else { continue }
            throw Self.refusal(
                PorticoError(.requestInvalid, "rows[\(earlier)] has the key \(id) too."), position)
        }
    }

    /// The same refusal, naming the first row whose key a record has.
    private func taken(_ error: PorticoError, _ changes: [RecordChange]) async throws -> PorticoError {
        for (position, change) in changes.enumerated() {
            guard case .create(let id?, _) = change.action else { continue }
            if try await records.record(id, in: change.entity) != nil { return Self.refusal(error, position) }
        }
        return error
    }

    /// Deletions that one transaction makes with the creations: a set with no more records is replaced as a whole or not at
    /// all.
    private static let deletionsOfTransaction = 100_000

    /// Deletions of what is there, and how many records leave in all. Those that are too many for the caller's transaction
    /// are made before it, so that a large set needs no more memory than a small one.
    private func remove(_ table: RecordTable) async throws -> (last: [RecordChange], count: Int) {
        var (count, query, last) = (0, Query(limit: Query.maximumLimit), [RecordChange]())
        while true {
            let page = try await records.query(query, in: table.entity)
            last += page.records.map { RecordChange(table.entity, .delete($0.id)) }
            count += page.records.count
            if last.count > Self.deletionsOfTransaction {
                _ = try await records.apply(last)
                last = []
            }
            guard let next = page.next else { return (last, count) }
            query.start = .after(next)
        }
    }
}

/// Converts a file's row to a record.
private struct RowReading: Sendable {
    /// Where a property's value is kept.
    private struct Location {
        let name: String
        let type: TypeReference
        let field: String
    }

    private let service: ServiceConfiguration
    private let table: RecordTable
    private let row: ImportedRow
    private let server: ServerValues
    private let form: StoredValueCodec
    private let needsKeyField: Bool
    /// By name. Nil where the server gives values too.
    private let locations: [String: Location]?
    /// Those of the row before, by position: rows of a file have the same names in the same order.
    private var latest: [Location] = []
    private let reader: ValueReader

    init(service: ServiceConfiguration, table: RecordTable, now: WireDate) {
        self.service = service
        self.table = table
        row = ImportedRow(model: service.model)
        server = ServerValues(tables: service.tables, now: now)
        form = StoredValueCodec(model: service.model)
        needsKeyField = table.columns.values.allSatisfy { $0.field != table.keyField }
        reader = ValueReader(model: service.model)
        let isPlain = table.discriminator == nil && !table.type.isOpen && server.givesNothing(table.type)
        locations =
            isPlain
            ? Dictionary(
                table.type.properties.compactMap { property in
                    table.columns[property.name].map {
                        (property.name, Location(name: property.name, type: property.type, field: $0.field.text))
                    }
                }, uniquingKeysWith: { $1 }) : nil
    }

    /// Throws `request.invalid` for a value that is none of its property's, with the property as the target.
    mutating func creation(of given: WireValue) throws(PorticoError) -> RecordChange {
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
    private mutating func plainFields(_ given: WireValue) throws(PorticoError) -> WireDictionary? {
        guard case .dictionary(let members) = given, locations != nil else { return nil }
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(members.count + 1)
        for (position, member) in members.enumerated() {
            guard let location = location(of: member.key, at: position) else { return nil }
            let value = try reader.value(row.value(member.value, location.type), location.type, at: member.key)
            entries.append(WireDictionary.Entry(key: location.field, value: value))
        }
        return WireDictionary(uncheckedUniqueKeys: entries)
    }

    private mutating func location(of name: String, at position: Int) -> Location? {
        if position < latest.count, latest[position].name.hasSameBytes(as: name) { return latest[position] }
        guard let found = locations?[name] else { return nil }
        if position < latest.count {
            latest[position] = found
        } else if position == latest.count {
            latest.append(found)
        }
        return found
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

/// A row of an imported file whose values are all texts, as in CSV; each is converted by the type of its property.
///
/// Besides OData's own texts it reads SQLite's texts of dates and Booleans (https://www.sqlite.org/lang_datefunc.html):
/// `2024-01-15 10:20:30`, in UTC, and `1` and `0`.
struct ImportedRow {
    let model: EntityDataModel

    func typed(_ row: WireValue, _ type: StructuredType) -> WireValue {
        guard case .dictionary(let members) = row else { return row }
        let typed = members.map { member in
            WireDictionary.Entry(
                key: member.key,
                value: type.property(member.key).map { value(member.value, $0.type) } ?? member.value)
        }
        return .dictionary(WireDictionary(uncheckedUniqueKeys: typed))
    }

    /// What was refused, with the value and the form that was wanted.
    func explained(_ error: PorticoError, _ row: WireValue, _ table: RecordTable) -> PorticoError {
        guard let target = error.target, let column = table.columns[target], let value = row[target] else {
            return error
        }
        let wanted = wanted(column.type).map { "; wanted is \($0)" } ?? ""
        return PorticoError(
            error.code, "\(error.message) It cannot be \(Self.shown(value))\(wanted).", target: target)
    }

    /// What of a value is shown: enough to find it.
    private static let shownCharacters = 60

    private static func shown(_ value: WireValue) -> String {
        switch value {
        case .string(let text):
            "\"\(text.unicodeScalars.prefix(shownCharacters).map(shown).joined())\""
                + (text.unicodeScalars.count > shownCharacters ? "…" : "")
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        case .null: "null"
        case .array: "a list"
        case .dictionary: "an object"
        default: "a value of another type"
        }
    }

    /// What no terminal may take for a command, and no format can carry, by its number.
    private static func shown(_ scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0xFFFE, 0xFFFF: "\\u{\(String(scalar.value, radix: 16))}"
        default: String(Character(scalar))
        }
    }

    func value(_ value: WireValue, _ type: TypeReference) -> WireValue {
        guard !type.isCollection, let primitive = model.primitive(behind: type.type) else { return value }
        if primitive == .boolean, let number = value.int64Value, case .int64 = value {
            return number == 1 ? true : number == 0 ? false : value
        }
        guard case .string(let text) = value else { return value }
        switch primitive {
        case .boolean: return Self.boolean(text) ?? value
        case .byte, .sByte, .int16, .int32, .int64: return Int64(text).map(WireValue.int64) ?? value
        case .double, .single: return Double(text).map(WireValue.double) ?? value
        case .date: return Self.date(text).map(WireValue.string) ?? value
        case .dateTimeOffset: return Self.instant(text).map(WireValue.string) ?? value
        default: return value
        }
    }

    private static func boolean(_ text: String) -> WireValue? {
        switch text.lowercased() {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// A day with midnight after it.
    private static func date(_ text: String) -> String? {
        guard text.utf8.count > 10, let (day, time) = parts(text) else { return nil }
        let isMidnight = time.utf8.allSatisfy {
            $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
        return isMidnight && CalendarText.timeOfDay(time) != nil ? day : nil
    }

    /// A day, or a day and a time without an offset.
    private static func instant(_ text: String) -> String? {
        if CalendarText.date(text) != nil { return "\(text)T00:00:00Z" }
        guard let (day, time) = parts(text) else { return nil }
        if let plain = CalendarText.timeOfDay(time) { return "\(day)T\(plain)Z" }
        // With an offset, or `Z`, behind a blank.
        let whole = "\(day)T\(time)"
        return CalendarText.instant(whole) == nil ? nil : whole
    }

    private static func parts(_ text: String) -> (day: String, time: String)? {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == " " || $0 == "T" }
        guard parts.count == 2, CalendarText.date(String(parts[0])) != nil else { return nil }
        return (String(parts[0]), String(parts[1]))
    }

    /// A description for error messages; nil where the refusal says the form already.
    private func wanted(_ type: TypeReference) -> String? {
        guard !type.isCollection else { return "a list" }
        if case .enumeration(let name) = type.type {
            let names = model.enumeration(name)?.members.prefix(20).map(\.name) ?? []
            return "one of \(names.joined(separator: ", "))"
        }
        guard let primitive = model.primitive(behind: type.type) else { return nil }
        if let range = primitive.integerRange {
            return "a whole number from \(range.lowerBound) to \(range.upperBound)"
        }
        switch primitive {
        case .boolean: return "true, false, 1 or 0"
        case .dateTimeOffset: return "that or 2024-01-15 10:20:30"
        case .decimal: return "a decimal number such as 12.50"
        case .double, .single: return "a number such as 12.5 or 1e3"
        case .binary: return "bytes as base64url"
        case .string: return "a text\(type.facets.maximumLength.map { " of at most \($0) characters" } ?? "")"
        default: return primitive.isSpatial ? "a place in GeoJSON" : nil
        }
    }
}
