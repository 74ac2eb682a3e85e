import AdapterKit
import CSV

/// A connection file that is made from something else, for its author to complete. What was guessed says so.
struct ConnectionDraft {
    struct Field {
        var name: String
        var type: String
        var from: String?
        var form: String?
        var values: [String] = []
        var maximumLength: Int64?
        var isRequired = false
        var note: String?
    }

    struct Entity {
        var name: String
        /// Where the document describes it.
        var path: String?
        var summary: String?
        var file: String?
        var address: String?
        var format: DocumentFormat?
        var separator = CSVSeparator.comma
        var list: (path: String, note: String?)?
        var key: (field: String?, note: String)
        var fields: [Field]
        /// The members of `paging` as they are written, and why.
        var paging: (members: [(name: String, value: String)], note: String)?
        var changes: (field: String, query: String, note: String)?
        var record: (address: String, note: String)?
        var notes: [String] = []
    }

    var title: String
    var upstream: (name: String, note: String)?
    var entities: [Entity]
    var notes: [String] = []

    static let schemaAddress = "connect.schema.json"

    /// `schema`: where editors find the JSON Schema.
    func text(schema: String = schemaAddress) -> String {
        var lines = ["# yaml-language-server: $schema=\(schema)"]
        lines += notes.map { "# \($0)" }
        lines.append("title: \(Self.scalar(title))")
        if let upstream { lines.append("upstream: \(upstream.name) # \(upstream.note)") }
        lines.append("entities:")
        for entity in entities { lines += Self.lines(entity) }
        return lines.map(\.onOneLine).joined(separator: "\n") + "\n"
    }

    private static func lines(_ entity: Entity) -> [String] {
        var lines = ["  \(entity.name):"]
        lines += entity.notes.map { "    # \($0)" }
        if let summary = entity.summary { lines.append("    summary: \(scalar(summary))") }
        if let file = entity.file { lines.append("    file: \(scalar(file))") }
        if let address = entity.address { lines.append("    address: \(scalar(address))") }
        if let format = entity.format, format != .json { lines.append("    format: \(format.rawValue)") }
        if entity.separator != .comma { lines.append("    separator: \(entity.separator.name)") }
        if let list = entity.list, !list.path.isEmpty {
            lines.append("    list: \(scalar(list.path))\(note(list.note))")
        }
        if let paging = entity.paging {
            let members = paging.members.map { "\($0.name): \(Int64($0.value).map { String($0) } ?? scalar($0.value))" }
                .joined(separator: ", ")
            lines.append("    paging: { \(members) }\(note(paging.note))")
        }
        lines.append("    key: \(entity.key.field ?? "?")\(note(entity.key.note))")
        lines.append("    fields:")
        lines += entity.fields.map { "      \($0.name): \(value($0))\(note($0.note))" }
        if let changes = entity.changes {
            lines.append(
                "    changes: { field: \(changes.field), query: { \(scalar(changes.query)): \"{\(changes.field)}\" } }"
                    + note(changes.note))
        }
        if let record = entity.record {
            lines.append("    record: { address: \(scalar(record.address)) }\(note(record.note))")
        }
        return lines
    }

    private static func note(_ text: String?) -> String { text.map { " # \($0)" } ?? "" }

    private static func value(_ field: Field) -> String {
        var members = ["type: \(field.type)"]
        if let from = field.from { members.append("from: \(scalar(from))") }
        if let length = field.maximumLength { members.append("maximumLength: \(length)") }
        if let form = field.form { members.append("form: \(form)") }
        if !field.values.isEmpty { members.append("values: [\(field.values.map(scalar).joined(separator: ", "))]") }
        if field.isRequired { members.append("required: true") }
        return members.count == 1 ? field.type : "{ \(members.joined(separator: ", ")) }"
    }

    /// A text as YAML has it: without quotes where it can be nothing else.
    static func scalar(_ text: String) -> String {
        let isPlain =
            text.utf8.first.map { isLetter($0) || $0 == 0x2f } ?? false
            && text.utf8.allSatisfy { isLetter($0) || ($0 >= 0x30 && $0 <= 0x39) || "_-./".utf8.contains($0) }
            && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(text.lowercased())
        if isPlain { return text }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case _ where !isShown(scalar): quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// Neither a control character nor one of YAML's line ends.
    fileprivate static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value) && !(0x2028...0x2029).contains(scalar.value)
            && scalar.value != 0xfeff
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a }
}

extension String {
    /// The text on one line, so that what others wrote begins no line of its own in the file.
    fileprivate var onOneLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { ConnectionDraft.isShown($0) ? $0 : " " }))
    }

    /// A name for a field or an entity: letters, digits and `_`; nil where nothing is left.
    func draftName(_ others: String = "_") -> String? {
        var name = ""
        for scalar in unicodeScalars {
            let isKept =
                scalar.isASCII && (scalar.properties.isAlphabetic || (scalar.value >= 0x30 && scalar.value <= 0x39))
            if isKept || others.unicodeScalars.contains(scalar) {
                name.unicodeScalars.append(scalar)
            } else if name.last != "_" {
                name.append("_")
            }
        }
        while name.last == "_" { name.removeLast() }
        while let first = name.unicodeScalars.first, !first.properties.isAlphabetic { name.removeFirst() }
        return name.isEmpty ? nil : String(name.prefix(60))
    }
}

extension ConnectionDraft {
    /// Names that keys have, the likeliest first.
    static let keyNames = ["id", "key", "uuid", "guid", "code", "number", "name", "email", "slug"]

    /// The likeliest key of these fields: `id`, the entity's name with `id` behind it, one of ``keyNames``, the first that
    /// can be one.
    static func key(of fields: [Field], in entity: String, isPossible: (Field) -> Bool = { _ in true }) -> String? {
        let possible = fields.filter { ["string", "integer"].contains($0.type) && isPossible($0) }
        let singular = entity.lowercased().hasSuffix("s") ? String(entity.lowercased().dropLast()) : entity.lowercased()
        let wanted = ["id", "\(singular)id", "\(singular)_id"] + keyNames
        for name in wanted {
            if let found = possible.first(where: { $0.name.lowercased() == name }) { return found.name }
        }
        return possible.first { $0.name.lowercased().hasSuffix("id") }?.name ?? possible.first?.name
    }
}
