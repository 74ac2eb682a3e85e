import AdapterKit
import CSV

/// A connection file for a file of rows, made by looking at them.
public struct FileDraft {
    /// Rows that are looked at.
    static let sample = 10_000
    /// Members of members are fields of their own, so deep.
    static let depth = 2

    /// The connection file. `file` is its path as the connection file names it, `name` that of the entity. Throws a sentence for
    /// what is no list of rows.
    public static func text(
        _ bytes: [UInt8], format name: String, separator: CSVSeparator = .comma, file: String, entity: String,
        title: String
    ) throws(DraftProblem) -> String {
        guard let format = DocumentFormat(rawValue: name), format == .csv || format == .json else {
            throw DraftProblem("A draft is made of csv and json.")
        }
        let document: WireValue
        do { document = try format.read(bytes, separator: separator) } catch {
            throw DraftProblem("\(file): \((error as? MirrorRefusal)?.detail ?? "it cannot be read")")
        }
        let (path, rows, note) = try list(in: document, format, file)
        let fields = fields(rows.prefix(sample), format)
        guard !fields.isEmpty else { throw DraftProblem("The rows of \(file) have no members.") }
        guard let entityName = entity.draftName("_-") else { throw DraftProblem("\(entity) is no name of an entity.") }
        let key = ConnectionDraft.key(of: fields, in: entityName) { isUnique($0, rows, format) }
        let draft = ConnectionDraft(
            title: title,
            entities: [
                .init(
                    name: entityName, file: file, format: format, separator: separator,
                    list: (path: path, note: note),
                    key: (
                        field: key,
                        note: key == nil
                            ? "no field's values are all different: choose one" : "guess: every row has another value"
                    ), fields: fields)
            ],
            notes: [
                "Made from \(file). Look at the guesses, name this file in the configuration (`adapters: { NAME: { connect: FILE } }`), "
                    + "then `porticoctl connect try FILE --config CONFIG`."
            ])
        return draft.text()
    }

    /// Levels of dictionaries around a list.
    private static let listDepth = 2

    /// The list and where it stands: the document, or the one list of rows in it, the outermost first. Throws where there is
    /// none, and where several may be meant.
    private static func list(
        in document: WireValue, _ format: DocumentFormat, _ file: String
    ) throws(DraftProblem) -> (path: String, rows: [WireValue], note: String?) {
        if let rows = format == .csv ? document[CSVDocument.rows]?.arrayValue : document.arrayValue {
            guard !rows.isEmpty else { throw DraftProblem("\(file) has no rows.") }
            return ("", rows, nil)
        }
        var level: [(path: [String], value: WireValue)] = [(path: [], value: document)]
        for _ in 0..<listDepth {
            level = level.flatMap { place in
                (place.value.dictionaryValue ?? [:]).entries.map { (path: place.path + [$0.key], value: $0.value) }
            }
            let lists = level.filter { !($0.value.arrayValue ?? []).isEmpty }
            let ofRows = lists.filter { $0.value.arrayValue?.first?.dictionaryValue != nil }
            let found = ofRows.isEmpty ? lists : ofRows
            let paths = found.map { DocumentPath(tokens: $0.path).description }
            if found.count == 1, let rows = found[0].value.arrayValue {
                return (paths[0], rows, lists.count == 1 ? "guess: the only list" : "guess: the only list of rows")
            }
            guard found.isEmpty else {
                throw DraftProblem(
                    "\(file) has several lists of rows: \(paths.prefix(20).joined(separator: ", ")). Write a file with one of them."
                )
            }
        }
        throw DraftProblem("\(file) has no list of rows.")
    }

    private static func fields(_ rows: ArraySlice<WireValue>, _ format: DocumentFormat) -> [ConnectionDraft.Field] {
        var paths: [[String]] = []
        var values: [[String]: [WireValue]] = [:]
        func add(_ value: WireValue, _ path: [String]) {
            if let members = value.dictionaryValue, path.count < depth {
                for member in members { add(member.value, path + [member.key]) }
            } else if !path.isEmpty {
                if values[path] == nil { paths.append(path) }
                values[path, default: []].append(value)
            }
        }
        for row in rows { add(row, []) }
        var names: Set<String> = []
        return paths.compactMap { path in
            guard let name = path.joined(separator: "_").draftName(), names.insert(name.lowercased()).inserted,
                let (type, form) = type(values[path] ?? [], format)
            else { return nil }
            let isOwnName = path == [name]
            return ConnectionDraft.Field(
                name: name, type: type, from: isOwnName ? nil : DocumentPath(tokens: path).description, form: form)
        }
    }

    /// The narrowest type that all values have; nil: they have none that a field can have.
    private static func type(_ values: [WireValue], _ format: DocumentFormat) -> (String, String?)? {
        let given = values.filter { !$0.isNull && !(format == .csv && $0 == "") }
        guard !given.isEmpty else { return ("string", nil) }
        func all(_ type: FieldType) -> Bool {
            given.allSatisfy { value in
                // A number that begins with zero is a text, such as a postal code's.
                if case .string(let text) = value, type == .integer || type == .number {
                    guard format == .csv, text == "0" || !text.hasPrefix("0") || text.hasPrefix("0."),
                        !text.hasPrefix("+")
                    else { return false }
                }
                if case .boolean = type, value != "true", value != "false", value.boolValue == nil { return false }
                return (try? type.shape.check(type.decoded(value, format))) != nil
            }
        }
        if all(.boolean(.literal)) { return ("boolean", nil) }
        if all(.integer) { return ("integer", nil) }
        if all(.number) { return (format == .csv ? "decimal" : "number", nil) }
        if all(.date(.rfc3339)) { return ("date", nil) }
        if all(.date(.day)) { return ("date", "day") }
        if given.allSatisfy({ $0.stringValue != nil }) { return ("string", nil) }
        if given.allSatisfy({ ($0.arrayValue ?? [.null]).allSatisfy { $0.stringValue != nil } }) {
            return ("strings", nil)
        }
        return given.allSatisfy({ $0.stringValue != nil || $0.int64Value != nil }) ? ("string", nil) : nil
    }

    private static func isUnique(
        _ field: ConnectionDraft.Field, _ rows: [WireValue], _ format: DocumentFormat
    ) -> Bool {
        let path = DocumentPath(field.from ?? "/\(field.name)") ?? .root
        var seen: Set<String> = []
        return rows.allSatisfy { row in
            guard let value = path.value(in: row),
                let text = value.int64Value.map({ String($0) }) ?? value.stringValue, RecordID(text) != nil
            else { return false }
            return seen.insert(text).inserted
        }
    }
}

/// Why a connection file cannot be drafted, as a sentence.
public struct DraftProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ description: String) { self.description = description }
}
