import AdapterKit
import GRDB

/// `$filter` as SQL over the columns of a table: comparisons, `and`, `or`, `not`, and the functions of texts that both
/// versions have. Throws `invalid` for anything else.
struct AdmissionsFilter {
    private let table: AdmissionsTable
    private var tokens: ArraySlice<Substring>
    private(set) var arguments: [(any DatabaseValueConvertible)?] = []
    /// Parentheses and negations within each other.
    private var depth = 0
    private static let deepest = 50

    /// The condition, with its arguments.
    static func condition(
        _ text: String, of table: AdmissionsTable
    ) throws(ServiceError) -> (sql: String, arguments: [(any DatabaseValueConvertible)?]) {
        var reader = AdmissionsFilter(table: table, tokens: try tokens(text)[...])
        let sql = try reader.disjunction()
        guard reader.tokens.isEmpty else { throw .invalid("The filter has something behind its end.") }
        return (sql, reader.arguments)
    }

    private init(table: AdmissionsTable, tokens: ArraySlice<Substring>) {
        (self.table, self.tokens) = (table, tokens)
    }

    /// Parentheses and commas, texts within quotes with what stands in front of them, words.
    private static func tokens(_ text: String) throws(ServiceError) -> [Substring] {
        var tokens: [Substring] = []
        var rest = Substring(text)
        while let first = rest.first {
            if first == " " {
                rest.removeFirst()
            } else if "(),".contains(first) {
                tokens.append(rest.prefix(1))
                rest.removeFirst()
            } else {
                var end = rest.startIndex
                while end < rest.endIndex, !" (),".contains(rest[end]) {
                    guard rest[end] == "'" else {
                        end = rest.index(after: end)
                        continue
                    }
                    guard let close = Self.quotesEnd(rest, end) else {
                        throw .invalid("A text of the filter has no end.")
                    }
                    end = close
                }
                tokens.append(rest[..<end])
                rest = rest[end...]
            }
        }
        return tokens
    }

    private static func quotesEnd(_ text: Substring, _ start: Substring.Index) -> Substring.Index? {
        var position = text.index(after: start)
        while position < text.endIndex {
            let next = text.index(after: position)
            if text[position] == "'" {
                guard next < text.endIndex, text[next] == "'" else { return next }
                position = text.index(after: next)
            } else {
                position = next
            }
        }
        return nil
    }

    private mutating func take(_ token: Substring) -> Bool {
        guard tokens.first == token else { return false }
        tokens.removeFirst()
        return true
    }

    private mutating func expect(_ token: Substring) throws(ServiceError) {
        guard take(token) else { throw .invalid("The filter lacks \(token).") }
    }

    private mutating func disjunction() throws(ServiceError) -> String {
        depth += 1
        defer { depth -= 1 }
        guard depth < Self.deepest else { throw .invalid("The filter is nested too deeply.") }
        var sql = try conjunction()
        while take("or") { sql = "(\(sql) OR \(try conjunction()))" }
        return sql
    }

    private mutating func conjunction() throws(ServiceError) -> String {
        var sql = try negation()
        while take("and") { sql = "(\(sql) AND \(try negation()))" }
        return sql
    }

    private mutating func negation() throws(ServiceError) -> String {
        depth += 1
        defer { depth -= 1 }
        guard depth < Self.deepest else { throw .invalid("The filter is nested too deeply.") }
        if take("not") { return "(NOT \(try negation()))" }
        if take("(") {
            let sql = try disjunction()
            try expect(")")
            return sql
        }
        return try comparison()
    }

    private static let operators: [Substring: String] = [
        "eq": "IS", "ne": "IS NOT", "gt": ">", "ge": ">=", "lt": "<", "le": "<=",
    ]

    private mutating func comparison() throws(ServiceError) -> String {
        guard let name = tokens.popFirst() else { throw .invalid("The filter ends too early.") }
        if let condition = try function(name) {
            guard let next = tokens.first, let sign = Self.operators[next] else { return condition }
            tokens.removeFirst()
            guard let wanted = tokens.popFirst(), ["true", "false"].contains(wanted) else {
                throw .invalid("The filter compares a function with something else.")
            }
            return "(\(condition) \(sign) \(wanted == "true" ? 1 : 0))"
        }
        guard let column = table.column(String(name)) else { throw .invalid("There is no property \(name).") }
        if let next = tokens.first, next == "in" {
            tokens.removeFirst()
            try expect("(")
            var alternatives: [String] = []
            repeat {
                guard let literal = tokens.popFirst() else { throw .invalid("The list has no end.") }
                arguments.append(try column.argument(literal: literal))
                alternatives.append("\(column.compared) IS ?")
            } while take(",")
            try expect(")")
            return "(\(alternatives.joined(separator: " OR ")))"
        }
        guard let sign = tokens.popFirst().flatMap({ Self.operators[$0] }), let literal = tokens.popFirst() else {
            throw .invalid("The filter compares \(name) with nothing.")
        }
        arguments.append(try column.argument(literal: literal))
        let comparison = "\(column.compared) \(sign) \(column.isDecimal ? "CAST(? AS REAL)" : "?")"
        // Null is neither before nor behind anything (URL Conventions 4.01, section 5.1.1.1).
        return "ifnull(\(comparison), 0)"
    }

    /// Nil where the name is none of a function's.
    private mutating func function(_ name: Substring) throws(ServiceError) -> String? {
        guard ["startswith", "endswith", "contains", "substringof"].contains(name), take("(") else { return nil }
        guard let first = tokens.popFirst(), take(","), let second = tokens.popFirst(), take(")") else {
            throw .invalid("The function \(name) takes two parameters.")
        }
        let (property, literal) = name == "substringof" ? (second, first) : (first, second)
        guard let column = table.column(String(property)) else { throw .invalid("There is no property \(property).") }
        guard let text = literal.quoted else { throw .invalid("The function \(name) takes a text.") }
        arguments.append(text)
        // Of null it is null, and so is what it is not (URL Conventions 4.01, sections 5.1.1.1 and 5.1.1.5).
        let value = column.sql
        switch name {
        case "startswith": return "(instr(\(value), ?) = 1)"
        case "endswith":
            arguments.append(text)
            return "(substr(\(value), -max(length(?), 1)) = ?)"
        default: return "(instr(\(value), ?) > 0)"
        }
    }
}

extension Substring {
    /// The text within quotes.
    fileprivate var quoted: String? {
        guard hasPrefix("'"), hasSuffix("'"), count >= 2 else { return nil }
        return dropFirst().dropLast().split(separator: "''", omittingEmptySubsequences: false).joined(separator: "'")
    }

    /// `guid'…'`, `datetime'…'`; the text itself where nothing stands in front of quotes.
    fileprivate var prefixed: String {
        guard let quote = firstIndex(of: "'") else { return String(self) }
        return self[quote...].quoted ?? String(self)
    }
}

extension AdmissionsColumn {
    var isDecimal: Bool { if case .decimal = kind { true } else { false } }

    fileprivate var compared: String { isDecimal ? "CAST(\(sql) AS REAL)" : sql }

    /// The value of a literal, as the column has it.
    func argument(literal: Substring) throws(ServiceError) -> (any DatabaseValueConvertible)? {
        if literal == "null" { return nil }
        switch kind {
        case .text:
            if let text = literal.quoted { return text }
        case .int32: if let number = Int64(literal) { return number }
        case .decimal:
            let digits = literal.last.map { "mMdDlL".contains($0) } ?? false ? literal.dropLast() : literal
            if Double(digits) != nil { return String(digits) }
        case .flag:
            if ["true", "false"].contains(literal) { return literal == "true" ? 1 : 0 }
        case .guid: return literal.prefixed.lowercased()
        case .day: return String(literal.prefixed.prefix(10))
        case .instant: if let time = Instants.milliseconds(literal.prefixed) { return time }
        case .time: return Instants.time(version2: literal.prefixed) ?? literal.prefixed
        case .texts: break
        }
        throw .invalid("\(literal) is no value of \(name).")
    }
}

/// Instants and times of day in the spellings of both versions.
enum Instants {
    /// Of an instant with or without an offset: without one it is UTC.
    static func milliseconds(_ text: String) -> Int64? {
        let instant = WireDate(rfc3339: text) ?? WireDate(rfc3339: text + "Z")
        return instant.map { Int64((($0.secondsSinceReferenceDate + 978_307_200) * 1_000).rounded()) }
    }

    static func text(_ milliseconds: Int64) -> String {
        WireDate(secondsSince1970: Double(milliseconds) / 1_000).rfc3339 ?? ""
    }

    /// `/Date(1767225600000)/`, with an offset or without.
    static func milliseconds(ticks text: String) -> Int64? {
        guard text.hasPrefix("/Date("), text.hasSuffix(")/") else { return nil }
        let inner = text.dropFirst(6).dropLast(2)
        return Int64(inner.prefix(1) + inner.dropFirst().prefix { $0 != "+" && $0 != "-" })
    }

    /// `08:15:00` of `PT08H15M00S`.
    static func time(version2 text: String) -> String? {
        guard let match = text.firstMatch(of: /^PT(\d+)H(?:(\d+)M)?(?:(\d+)S)?$/) else { return nil }
        let parts = [match.1, match.2 ?? "0", match.3 ?? "0"].map { $0.count < 2 ? "0\($0)" : String($0) }
        return parts.joined(separator: ":")
    }

    static func version2(time: String) -> String {
        let parts = time.split(separator: ":")
        return parts.count == 3 ? "PT\(parts[0])H\(parts[1])M\(parts[2])S" : time
    }
}
