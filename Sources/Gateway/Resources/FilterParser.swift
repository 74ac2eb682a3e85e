import AdapterKit
import NearestNames
import ValueTree

/// Reads the `filter` parameter of a resource.
///
/// ```
/// or      = and *( "or" and )
/// and     = unary *( "and" unary )
/// unary   = "not" unary / "(" or ")" / function / comparison
/// comparison = field ( "eq" / "ne" / "lt" / "le" / "gt" / "ge" ) literal / field "in" "(" literal *( "," literal ) ")"
/// function   = ( "startsWith" / "endsWith" / "contains" / "has" ) "(" field "," literal ")" / "search" "(" text ")"
/// literal    = text / number / "true" / "false" / "null"
/// ```
///
/// A literal is read by its field's shape, so a date stands in quotes. The words are those of OData where it has them.
struct FilterParser {
    static let maximumDepth = 32
    static let maximumTerms = 200

    private let entity: Entity
    private var scanner: FilterScanner
    private var depth = 0
    private var terms = 0

    /// Throws `request.invalid`, target `filter`, with the place of the mistake.
    static func parse(_ text: String, for entity: Entity) throws(PorticoError) -> Filter {
        do throws(FilterError) {
            var parser = FilterParser(entity: entity, scanner: try FilterScanner(text))
            let filter = try parser.or()
            guard parser.scanner.token == .end else { throw parser.error("Something follows the end of the filter") }
            return filter
        } catch {
            throw PorticoError(.requestInvalid, "\(error.message) (character \(error.position)).", target: "filter")
        }
    }

    private init(entity: Entity, scanner: FilterScanner) {
        self.entity = entity
        self.scanner = scanner
    }

    private mutating func or() throws(FilterError) -> Filter {
        var filters = [try and()]
        while try takes("or") { filters.append(try and()) }
        return filters.count == 1 ? filters[0] : .any(filters)
    }

    private mutating func and() throws(FilterError) -> Filter {
        var filters = [try unary()]
        while try takes("and") { filters.append(try unary()) }
        return filters.count == 1 ? filters[0] : .all(filters)
    }

    private mutating func unary() throws(FilterError) -> Filter {
        depth += 1
        terms += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth, terms <= Self.maximumTerms else { throw error("The filter is too complex") }
        if try takes("not") { return .not(try unary()) }
        if try takes("(" as Character) {
            let inner = try or()
            try expect(")")
            return inner
        }
        let (name, position) = (try word(), scanner.position)
        if try takes("(" as Character) { return try function(name, at: position) }
        return try comparison(try field(name, at: position))
    }

    private mutating func comparison(_ field: Field) throws(FilterError) -> Filter {
        let position = scanner.position
        let name = try word()
        if name == "in" { return .oneOf(field.name, try list(of: field)) }
        guard let comparison = Comparison(rawValue: name) else {
            throw FilterError(Self.unknown("\(name) is no comparison", name, Self.comparisons), position)
        }
        guard let value = try literal(field.shape) else {
            switch comparison {
            case .equal: return .isNull(field.name)
            case .notEqual: return .not(.isNull(field.name))
            default: throw error("Null can only be compared with eq and ne")
            }
        }
        return .compare(field.name, comparison, value)
    }

    private mutating func list(of field: Field) throws(FilterError) -> [WireValue] {
        try expect("(")
        var values: [WireValue] = []
        repeat {
            guard let value = try literal(field.shape) else { throw error("Null cannot stand in a list") }
            values.append(value)
            guard values.count <= Self.maximumTerms else { throw error("The list is too long") }
        } while try takes("," as Character)
        try expect(")")
        return values
    }

    private mutating func function(_ name: String, at position: Int) throws(FilterError) -> Filter {
        guard Self.functions.contains(name) else {
            throw FilterError(Self.unknown("There is no function \(name)", name, Self.functions), position)
        }
        if name == "search" {
            let words = try text().split(whereSeparator: \.isWhitespace).map(String.init)
            try expect(")")
            return .search(words: words)
        }
        let field = try field(try word(), at: position)
        try expect(",")
        let filter = try function(name, on: field, at: position)
        try expect(")")
        return filter
    }

    private mutating func function(_ name: String, on field: Field, at position: Int) throws(FilterError) -> Filter {
        switch (name, field.shape) {
        case ("startsWith", .string), ("startsWith", .choice): return .hasPrefix(field.name, try text())
        case ("endsWith", .string), ("endsWith", .choice): return .hasSuffix(field.name, try text())
        case ("contains", .string), ("contains", .choice): return .containsText(field.name, try text())
        case ("has", .list(let item)):
            guard let value = try literal(item) else { throw error("A list holds no null") }
            return .listContains(field.name, value)
        default: throw FilterError("\(name) is no function of the field \(field.name)", position)
        }
    }
}

extension FilterParser {
    private static let functions = ["startsWith", "endsWith", "contains", "has", "search"]
    private static let comparisons = Comparison.allCases.map(\.rawValue) + ["in"]

    /// With the name that is meant, and all that there are.
    private static func unknown(_ message: String, _ name: String, _ known: [String]) -> String {
        "\(message).\(NearestName.sentence(name, among: known)) There are \(known.joined(separator: ", "))"
    }

    private func error(_ message: String) -> FilterError {
        FilterError(message, scanner.position)
    }

    private func field(_ name: String, at position: Int) throws(FilterError) -> Field {
        guard let field = FieldName(name).flatMap(entity.field) else {
            let near = NearestName.sentence(name, among: entity.fields.map(\.name.text))
            let missing = "There is no field \(name)"
            throw FilterError(near.isEmpty ? missing : "\(missing).\(near)", position)
        }
        guard field.isFilterable else { throw FilterError("\(entity.name) cannot be filtered by \(name)", position) }
        return field
    }

    private mutating func takes(_ word: String) throws(FilterError) -> Bool {
        guard scanner.token == .word(word) else { return false }
        try scanner.advance()
        return true
    }

    private mutating func takes(_ symbol: Character) throws(FilterError) -> Bool {
        guard scanner.token == .symbol(symbol) else { return false }
        try scanner.advance()
        return true
    }

    private mutating func expect(_ symbol: Character) throws(FilterError) {
        guard try takes(symbol) else { throw error("\(symbol) is missing") }
    }

    private mutating func word() throws(FilterError) -> String {
        guard case .word(let word) = scanner.token else { throw error("A name is missing") }
        try scanner.advance()
        return word
    }

    private mutating func text() throws(FilterError) -> String {
        guard case .text(let text) = scanner.token else { throw error("A text in quotes is missing") }
        try scanner.advance()
        return text
    }

    /// Nil for null.
    private mutating func literal(_ shape: Shape) throws(FilterError) -> WireValue? {
        let text: String
        switch scanner.token {
        case .word("null"):
            try scanner.advance()
            return nil
        case .word(let word) where word == "true" || word == "false": text = word
        case .number(let number): text = number
        case .text(let quoted): text = quoted
        case .word(let word): throw error("\(word) is no value: texts and dates stand in single quotes, '\(word)'")
        default: throw error("A value is missing")
        }
        let value = Coercion.textual.coerce(.string(text), to: shape)
        guard (try? shape.check(value, at: "filter")) != nil else {
            throw error("The value must be \(shape.words)")
        }
        try scanner.advance()
        return value
    }
}

/// The tokens of a filter expression, each with its position in the text.
///
/// ```
/// word    letter or _, then letters, digits, _
/// number  -? digits ( . digits )? ( e ±digits )?
/// text    ' … ' , a quote inside is doubled
/// symbol  ( ) ,
/// ```
struct FilterScanner {
    enum Token: Equatable {
        case word(String)
        case number(String)
        case text(String)
        case symbol(Character)
        case end
    }

    private let characters: [Character]
    private var offset = 0
    /// Where the current token begins, counted in characters from 1.
    private(set) var position = 1
    private(set) var token = Token.end

    init(_ text: String) throws(FilterError) {
        characters = Array(text)
        try advance()
    }

    mutating func advance() throws(FilterError) {
        while offset < characters.count, characters[offset].isWhitespace { offset += 1 }
        position = offset + 1
        guard offset < characters.count else {
            token = .end
            return
        }
        let first = characters[offset]
        switch first {
        case "(", ")", ",":
            offset += 1
            token = .symbol(first)
        case "'": token = .text(try takeText())
        case "-", "0"..."9": token = .number(take { $0.isNumberPart })
        case _ where first.isWordPart: token = .word(take { $0.isWordPart })
        case "\"": throw FilterError("Texts stand in single quotes", position)
        case "=", "<", ">", "!":
            throw FilterError("Comparisons are words: eq, ne, lt, le, gt, ge", position)
        default: throw FilterError("Nothing in a filter begins with this character", position)
        }
    }

    private mutating func take(while belongs: (Character) -> Bool) -> String {
        let start = offset
        while offset < characters.count, belongs(characters[offset]) { offset += 1 }
        return String(characters[start..<offset])
    }

    private mutating func takeText() throws(FilterError) -> String {
        var text = ""
        offset += 1
        while offset < characters.count {
            let character = characters[offset]
            offset += 1
            if character != "'" {
                text.append(character)
            } else if offset < characters.count, characters[offset] == "'" {
                text.append(character)
                offset += 1
            } else {
                return text
            }
        }
        throw FilterError("The text has no closing quote", position)
    }
}

struct FilterError: Error, Equatable {
    let message: String
    /// Counted in characters from 1.
    let position: Int

    init(_ message: String, _ position: Int) {
        self.message = message
        self.position = position
    }
}

extension Character {
    fileprivate var isWordPart: Bool {
        isASCII && (isLetter || isNumber || self == "_")
    }

    fileprivate var isNumberPart: Bool {
        isASCII && (isNumber || "+-.eE".contains(self))
    }
}
