import AdapterKit
import CSV
import HTTPTypes
import Identity
import RecordStorage
import ValueTree

/// `POST /admin/v1/adapters/{adapter}/import`: loads a file of records through the adapter's operation `import`, all of
/// it or nothing. With `?first=` the file is a part of a larger one.
struct ImportEndpoint: Endpoint {
    static let operation: OperationName = "import"

    let served: ServedAdapter
    let operation: Operation
    let services: GatewayServices

    var properties: EndpointProperties {
        EndpointProperties(
            name: "admin.\(served.declaration.name).import", access: .login, effect: .writes,
            bodyLimit: services.limits.importFile, adminRole: .operator, isConfirmed: true)
    }

    var description: EndpointDescription {
        EndpointDescription(summary: operation.summary, tag: "Administration")
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try request.request.target.requireQuery(
            of: Set(operation.input.members.map(\.name.text)).union(["first", "separator"]))
        let bytes = try await services.bodies.bytes(of: request.request, limit: services.limits.importFile)
        let rows = try ImportedRows(
            bytes, contentType: request.request.headers[.contentType], separator: try separator(of: request),
            first: try first(of: request), bodies: services.bodies)
        if case .object(let row) = rowShape { try rows.requireColumns(CSVColumns(row)) }
        var input: WireDictionary = ["rows": .array(try rows.values(of: rowShape))]
        // For an adapter whose rows differ from set to set, so that only it knows their columns.
        if operation.input.member("columns") != nil, let columns = rows.columns {
            input["columns"] = .array(columns.map { .string($0) })
        }
        // What an adapter asks for beside the rows, such as which of its sets they are for.
        for member in operation.input.members where !["rows", "columns"].contains(member.name.text) {
            if let text = request.request.target[member.name.text] { input[member.name.text] = .string(text) }
        }
        input = Coercion.typed.coerce(input, to: operation.input)
        do {
            let answer = try await services.calls.perform(operation, of: served, input: input, request: request)
            return try services.encoder.write(
                answer, of: operation, to: request.request, presentation: Presentation(), version: nil)
        } catch let error as PorticoError {
            throw rows.renamed(error)
        }
    }

    /// Where these rows are in the operator's file, as `?first=` says for a part of one.
    private func first(of request: AuthenticatedRequest) throws(PorticoError) -> Int? {
        try request.request.target.number("first", in: Self.places)
    }

    /// The separator of a CSV file, as `?separator=` says.
    private func separator(of request: AuthenticatedRequest) throws(PorticoError) -> CSVSeparator {
        guard let text = request.request.target["separator"] else { return .comma }
        guard let separator = CSVSeparator(text) else {
            let names = CSVSeparator.allCases.map(\.name).joined(separator: ", ")
            throw PorticoError(.requestInvalid, "separator is one of \(names).", target: "separator")
        }
        return separator
    }

    /// Lines and rows can be counted on from any of them.
    private static let places = 1...(1 << 52)

    private var rowShape: Shape {
        guard case .list(let row)? = operation.input.member("rows")?.shape else { return .any }
        return row
    }
}

/// The adapters' own operations for operators, and the loading of files.
struct OperatorRoutes: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices

    func routes() -> [Route] {
        adapters.flatMap { served in
            served.declaration.operations.filter { $0.audience == .operators }.map { route($0, served) }
        }
    }

    private func route(_ operation: Operation, _ served: ServedAdapter) -> Route {
        let base = "/admin/v1/adapters/\(served.declaration.name)"
        if operation.name == ImportEndpoint.operation {
            let endpoint = ImportEndpoint(served: served, operation: operation, services: services)
            return Route(.post, PathTemplate(stringLiteral: "\(base)/import"), endpoint)
        }
        let path = PathTemplate(stringLiteral: "\(base)/operations/\(operation.name)")
        let endpoint = OperationEndpoint(
            served: served, operation: operation, binding: HTTPBinding(.post, path), services: services)
        return Route(.post, path, endpoint)
    }
}

/// The rows of a file that an operator loads, each with words for its place in the file.
struct ImportedRows: Sendable {
    struct Row: Sendable {
        /// The line in a CSV file, the row elsewhere; counted from 1.
        let number: Int
        let value: WireValue
    }

    let rows: [Row]
    /// The columns that the header of a CSV file names.
    let columns: [String]?
    private let unit: String
    /// Numbers and dates may be texts in every format.
    private let coercion: Coercion

    /// Where the row is in the file: `line 17`.
    private func location(of row: Row) -> String { "\(unit) \(row.number)" }

    /// CSV by its media type; everything else through the wire formats: an array of dictionaries, or a dictionary whose
    /// one member is such an array. Where they are a part of a file, `first` is the place of the first of them: its line
    /// in a CSV file, its row elsewhere.
    init(
        _ bytes: [UInt8], contentType: String?, separator: CSVSeparator = .comma, first: Int? = nil, bodies: BodyReader
    ) throws(PorticoError) {
        if contentType?.lowercased().hasPrefix("text/csv") == true {
            do {
                let table = try CSVTable(bytes, separator: separator, firstLine: first)
                (unit, columns, coercion) = ("line", table.columns, .textual)
                rows = table.rows.map { Self.row($0, table.columns) }
            } catch {
                throw error.error
            }
            return
        }
        let body = try bodies.read(bytes, contentType: contentType)
        guard
            let items = Self.items(of: body.value)
                ?? (body.coercion.textSpellsEverything ? Self.item(of: body.value) : nil)
        else {
            throw PorticoError(.requestInvalid, "The file is not a list of records.")
        }
        (unit, columns, coercion) = ("row", nil, body.coercion.collapsesSpace ? .xml : .textual)
        rows = items.enumerated().map { Row(number: $0 + (first ?? 1), value: $1) }
    }

    /// A record of the fields that are not empty.
    private static func row(_ row: CSVTable.Row, _ columns: [String]) -> Row {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(columns.count)
        for (position, field) in row.fields.enumerated() where !field.isEmpty {
            entries.append(WireDictionary.Entry(key: columns[position], value: .string(field)))
        }
        return Row(number: row.line, value: .dictionary(WireDictionary(uncheckedUniqueKeys: entries)))
    }

    /// Throws `request.invalid` for a header that names other columns than rows can have, or lacks one that they need: of a
    /// file without rows nothing else shows that it is another one.
    func requireColumns(_ wanted: CSVColumns) throws(PorticoError) {
        guard let columns else { return }
        do { try wanted.check(columns) } catch { throw error.error }
    }

    /// An XML document with one record: without a type attribute it reads as a dictionary whose one member is a dictionary.
    private static func item(of value: WireValue) -> [WireValue]? {
        guard let members = value.dictionaryValue, members.count == 1, let record = members.entries.first?.value else {
            return nil
        }
        return record.dictionaryValue == nil ? nil : [record]
    }

    private static func items(of value: WireValue) -> [WireValue]? {
        if let items = value.arrayValue { return items }
        guard let members = value.dictionaryValue else { return nil }
        let lists = members.entries.compactMap { $0.value.arrayValue }
        return lists.count == 1 ? lists[0] : nil
    }
}

extension ImportedRows {
    /// The rows in the types of `shape`. Throws `request.invalid` for the first row that does not fit, naming it.
    func values(of shape: Shape) throws(PorticoError) -> [WireValue] {
        var values: [WireValue] = []
        for row in rows {
            let value = coercion.coerce(row.value, to: shape)
            do {
                try shape.check(value, at: "")
            } catch {
                throw PorticoError(.requestInvalid, "\(location(of: row)): \(error.message)", target: error.target)
            }
            values.append(value)
        }
        return values
    }

    /// An adapter's own complaint about `rows[n]`, in the words of the file. The message may begin with another row.
    func renamed(_ error: PorticoError) -> PorticoError {
        guard let target = error.target, let (place, rest) = renamed(target) else { return error }
        let message = renamed(error.message).map { other, rest in "\(other)\(rest)" } ?? error.message
        let field = rest.drop { $0 == "." }
        return PorticoError(
            error.code, "\(place): \(message)", target: field.isEmpty ? nil : String(field), logDetail: error.logDetail)
    }

    /// The row's place, and what follows, of a text that begins with `rows[n]`.
    private func renamed(_ text: String) -> (place: String, rest: Substring)? {
        guard text.hasPrefix("rows["), let end = text.firstIndex(of: "]"),
            let number = Int(text.dropFirst(5).prefix(upTo: end)), rows.indices.contains(number)
        else { return nil }
        return (location(of: rows[number]), text[text.index(after: end)...])
    }
}
