import AdapterKit

/// A text with fields in it: `issues/{id}`, `{lower(name)}`, `{date(modified, unix)}`, `{join(tags, ",")}`,
/// `{default(title, "none")}`. `{{` and `}}` are braces.
///
/// It is checked whole when it is read: rendering fails for values alone.
struct Template: Sendable, Equatable {
    static let maximumLength = 4_096
    static let maximumFields = 64

    enum Function: Sendable, Equatable {
        case plain
        case lower
        case date(DateForm)
        case join(String)
        case `default`(String)
    }

    enum Part: Sendable, Equatable {
        case text(String)
        case field(FieldName, Function)
    }

    /// A mistake in a template, as a sentence.
    struct Problem: Error, Equatable {
        let message: String

        init(_ message: String) { self.message = message }
    }

    let parts: [Part]

    /// The fields that have a text where they have no value: `{default(title, "none")}`.
    var fieldsWithDefault: [FieldName] {
        parts.compactMap { part in
            if case .field(let name, .default) = part { name } else { nil }
        }
    }

    init(parts: [Part]) { self.parts = parts }

    /// `fields`: those that may stand in it.
    init(_ text: String, fields: [FieldMapping]) throws(Problem) {
        guard text.utf8.count <= Self.maximumLength else {
            throw Problem("A template has at most \(Self.maximumLength) bytes.")
        }
        var parts: [Part] = []
        var literal = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "{", rest.first == "{" {
                literal.append(character)
                rest.removeFirst()
            } else if character == "}" {
                guard rest.popFirst() == "}" else { throw Problem("A `}` closes nothing; a brace is written `}}`.") }
                literal.append("}")
            } else if character == "{" {
                guard let end = Self.end(of: rest) else {
                    throw Problem("A `{` is not closed; a brace is written `{{`.")
                }
                if !literal.isEmpty { parts.append(.text(literal)) }
                literal = ""
                parts.append(try Self.field(rest[..<end], fields))
                rest = rest[end...].dropFirst()
            } else {
                literal.append(character)
            }
        }
        if !literal.isEmpty { parts.append(.text(literal)) }
        self.parts = parts
        guard self.fields.count <= Self.maximumFields else {
            throw Problem("A template names at most \(Self.maximumFields) fields.")
        }
    }

    /// The closing brace, which may not stand in quotes.
    private static func end(of text: Substring) -> Substring.Index? {
        var isQuoted = false
        return text.indices.first { index in
            if text[index] == "\"" { isQuoted.toggle() }
            return text[index] == "}" && !isQuoted
        }
    }

    private static func field(_ text: Substring, _ fields: [FieldMapping]) throws(Problem) -> Part {
        let written = text.trimmed
        guard let open = written.firstIndex(of: "(") else {
            return .field(try knownField(written, fields).name, .plain)
        }
        guard written.hasSuffix(")") else { throw Problem("The function in `{\(written)}` is not closed.") }
        let name = written[..<open].trimmed
        let inner = written[open...].dropFirst().dropLast()
        let comma = inner.firstIndex(of: ",")
        let field = try knownField(inner[..<(comma ?? inner.endIndex)].trimmed, fields)
        let argument = comma.map { inner[$0...].dropFirst().trimmed.unquoted }
        return .field(field.name, try function(name, argument, field))
    }

    private static func function(
        _ name: Substring, _ argument: String?, _ field: FieldMapping
    ) throws(Problem) -> Function {
        switch (name, argument) {
        case ("lower", nil):
            guard field.type.isText else { throw Problem("`lower` takes a text, and \(field.name) is none.") }
            return .lower
        case ("date", let argument):
            guard case .date = field.type else { throw Problem("`date` takes a date, and \(field.name) is none.") }
            guard let form = DateForm(rawValue: argument ?? DateForm.rfc3339.rawValue) else {
                throw Problem("`date` knows \(DateForm.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return .date(form)
        case ("join", let argument?):
            guard field.type == .strings else { throw Problem("`join` takes a list, and \(field.name) is none.") }
            return .join(argument)
        case ("default", let argument?): return .default(argument)
        case ("join", nil), ("default", nil), ("lower", _):
            throw Problem("The function `\(name)` is written `\(name)(field\(name == "lower" ? "" : ", \"text\""))`.")
        default: throw Problem("There is no function `\(name)`: there are date, lower, join and default.")
        }
    }

    private static func knownField(_ text: Substring, _ fields: [FieldMapping]) throws(Problem) -> FieldMapping {
        guard let field = fields.first(where: { $0.name.text == text }) else {
            let known =
                fields.isEmpty ? "none may stand here" : "there are \(fields.map(\.name.text).joined(separator: ", "))"
            throw Problem("There is no field `\(text)`: \(known).")
        }
        return field
    }

    /// The fields that stand in it.
    var fields: [FieldName] {
        parts.compactMap { if case .field(let name, _) = $0 { name } else { nil } }
    }

    /// A field that goes out typed: a number as a number, and no value as null.
    struct OnlyField: Equatable {
        let name: FieldName
        /// Nil: the form in which the other system has it.
        let form: DateForm?
    }

    /// The one field that is all of it, as it is or in a form of dates.
    var onlyField: OnlyField? {
        guard parts.count == 1, case .field(let name, let function) = parts[0] else { return nil }
        switch function {
        case .plain: return OnlyField(name: name, form: nil)
        case .date(let form): return OnlyField(name: name, form: form)
        case .lower, .join, .default: return nil
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return text
    }

    fileprivate var unquoted: String {
        count >= 2 && first == "\"" && last == "\"" ? String(dropFirst().dropLast()) : String(self)
    }
}

/// The values of a record or of an input, as templates write them.
struct TemplateValues: Sendable {
    /// The escaping of a value in the text around it.
    enum Escaping: Sendable {
        case none
        /// A segment of a path or a part of one (RFC 3986, section 3.3): all but unreserved characters.
        case path
        /// Text and attribute values (XML 1.0, section 2.4).
        case xml
    }

    let values: WireDictionary
    let mappings: [FieldMapping]

    /// Throws where a value cannot stand there: a list, nothing in a path, dots that lead to another folder.
    func render(_ template: Template, _ escaping: Escaping = .none) throws(Template.Problem) -> String {
        var text = ""
        // Segments of a path that have a field, by their numbers.
        var filled: Set<Int> = []
        for part in template.parts {
            switch part {
            case .text(let literal): text += literal
            case .field(let name, let function):
                let value = try self.text(name, function)
                switch escaping {
                case .none: text += value
                case .xml: text += value.xmlEscaped
                case .path:
                    guard !value.isEmpty else {
                        throw Template.Problem("The field \(name) cannot stand in an address.")
                    }
                    filled.insert(text.utf8.count { $0 == UInt8(ascii: "/") })
                    text += value.percentEncoded
                }
            }
        }
        // A server takes `.` and `..` for its folders, also where several fields make them.
        let segments = text.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        for number in filled where number < segments.count {
            let segment = segments[number].lowercased().replacing("%2e", with: ".")
            guard segment != ".", segment != ".." else {
                throw Template.Problem("Fields cannot make a segment of an address `.` or `..`.")
            }
        }
        return text
    }

    /// Typed.
    func value(_ field: Template.OnlyField) -> WireValue {
        guard let form = field.form else { return value(field.name) }
        return form.encoded(values[field.name.text] ?? .null)
    }

    /// As the other system has it, typed.
    func value(_ name: FieldName) -> WireValue {
        let value = values[name.text] ?? .null
        return mapping(name)?.type.encoded(value) ?? value
    }

    private func mapping(_ name: FieldName) -> FieldMapping? { mappings.first { $0.name == name } }

    private func text(_ name: FieldName, _ function: Template.Function) throws(Template.Problem) -> String {
        let value = values[name.text] ?? .null
        switch function {
        case .plain: return try Self.text(self.value(name), name)
        case .lower: return try Self.text(value, name).lowercased()
        case .date(let form): return try Self.text(form.encoded(value), name)
        case .join(let separator):
            return (value.arrayValue ?? []).compactMap(\.stringValue).joined(separator: separator)
        case .default(let text):
            let found = try Self.text(self.value(name), name)
            return found.isEmpty ? text : found
        }
    }

    private static func text(_ value: WireValue, _ name: FieldName) throws(Template.Problem) -> String {
        switch value {
        case .null: return ""
        case .string(let text): return text
        case .bool(let flag): return flag ? "true" : "false"
        case .int64(let number): return String(number)
        case .uint64(let number): return String(number)
        case .double(let number): return number.description
        case .decimal(let number): return number.description
        case .date(let instant): return instant.rfc3339 ?? ""
        default: throw Template.Problem("The field \(name) is a list; `join` makes a text of it.")
        }
    }
}

extension String {
    fileprivate var percentEncoded: String {
        var encoded = ""
        for byte in utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e:
                encoded.unicodeScalars.append(.init(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    fileprivate var xmlEscaped: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&apos;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
