import AdapterKit
import WireFormats

// Lists of values, members of trees, searches.
extension ExpressionCompiler {
    /// Many texts or integers are bound as one JSON array, so that the statement's text stays the same.
    func oneOf(_ operand: RowExpression, _ values: [WireValue]) throws(PorticoError) -> SQLFragment {
        let value = try value(operand)
        guard value.kind != .tree else { throw Self.invalid("Lists and dictionaries are in no list.") }
        var bound: [SQLFragment] = []
        var needsDecimal = false
        for listed in values where !listed.isNull {
            guard let literal = TypedSQL.literal(listed, for: value.kind) else {
                throw Self.invalid("Values of different kinds meet.")
            }
            needsDecimal = needsDecimal || (value.kind == .integer && literal.kind == .decimal)
            bound.append(literal.fragment)
        }
        if bound.isEmpty { return .build("($ IN ())", [value.fragment]) }
        if needsDecimal { throw Self.invalid("Values of different kinds meet.") }
        if bound.count > Self.fewValues, let array = Self.array(bound.flatMap(\.values)) {
            return .build("($ IN (SELECT value FROM json_each(?)))", [value.fragment]) + SQLFragment("", [.text(array)])
        }
        return .build("($ IN ($))", [value.fragment, .list(bound)])
    }

    /// The values as each of them is compared with `operand`, each once and in order; nil where they are neither all texts
    /// nor all integers, as it is.
    func keys(_ values: [WireValue], for operand: RowExpression) throws(PorticoError) -> [SQLValue]? {
        let kind = try value(operand).kind
        guard kind == .integer || kind == .text else { return nil }
        var keys: [SQLValue] = []
        keys.reserveCapacity(values.count)
        for listed in values where !listed.isNull {
            guard let key = Self.key(listed, kind) else { return nil }
            keys.append(key)
        }
        if zip(keys, keys.dropFirst()).allSatisfy(Self.isBefore) { return keys }
        return Set(keys).sorted(by: Self.isBefore)
    }

    private static func key(_ value: WireValue, _ kind: RowKind?) -> SQLValue? {
        switch (value, kind) {
        case (.int64(let number), .integer): return .integer(number)
        case (.string(let text), .text): return .text(text)
        default:
            let literal = TypedSQL.literal(value, for: kind)
            return literal?.kind == kind ? literal?.fragment.values.first : nil
        }
    }

    private static func isBefore(_ left: SQLValue, _ right: SQLValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        default: false
        }
    }

    /// A statement with up to that many parameters in one list is worth its own text.
    private static let fewValues = 8

    /// Nil where JSON would not carry the values as they are.
    private static func array(_ values: [SQLValue]) -> String? {
        var items: [WireValue] = []
        for value in values {
            switch value {
            case .integer(let number): items.append(.int64(number))
            case .text(let text): items.append(.string(text))
            default: return nil
            }
        }
        guard let bytes = try? JSONFormat().write(.array(items)) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    func member(of whole: RowExpression, _ steps: [RowStep], _ kind: RowKind) throws(PorticoError) -> TypedSQL {
        let path = steps.map { step -> SQLFragment in
            switch step {
            case .member(let name): SQLFragment("?", [.text(name)])
            case .position(let position): SQLFragment("?", [.integer(Int64(position))])
            }
        }
        let tree: SQLFragment
        var prefix: [SQLFragment] = []
        if case .element(let source) = whole {
            tree = try relations.scope.list(source).fragment
            prefix = [SQLFragment("\(source.sql).value")]
        } else {
            let compiled = try value(whole)
            guard compiled.kind == .tree else { throw Self.invalid("Only lists and dictionaries have members.") }
            tree = compiled.fragment
        }
        return TypedSQL(.build("portico_member('\(kind.rawValue)', $)", [.list([tree] + prefix + path)]), kind)
    }

    func found(
        _ search: RowSearch, in layout: CollectionLayout, _ source: SourceName
    ) throws(PorticoError) -> SQLFragment {
        guard layout.hasSearch else {
            throw PorticoError(.searchUnavailable, "\(layout.entity.name) has no full-text search.", target: "search")
        }
        switch search {
        case .all(let parts): return .balanced(try found(parts, in: layout, source, empty: "1"), " AND ")
        case .any(let parts): return .balanced(try found(parts, in: layout, source, empty: "0"), " OR ")
        case .not(let inner): return .build("(NOT $)", [try found(inner, in: layout, source)])
        case .word(let text), .phrase(let text):
            let table = layout.names.search.quotedIdentifier
            let row = "\(source.sql).\(layout.rowColumn)"
            guard let phrase = SearchExpression.phrase(text) else { return SQLFragment("0") }
            return SQLFragment(
                "(\(row) IN (SELECT rowid FROM \(table) WHERE \(table) MATCH ?))", [.text(phrase)])
        }
    }

    private func found(
        _ parts: [RowSearch], in layout: CollectionLayout, _ source: SourceName, empty: String
    ) throws(PorticoError) -> [SQLFragment] {
        var compiled: [SQLFragment] = []
        for part in parts { compiled.append(try found(part, in: layout, source)) }
        return compiled.isEmpty ? [SQLFragment(empty)] : compiled
    }
}

extension SearchExpression {
    /// Whole words that follow each other, in which no character means anything to FTS5. Nil where there is no letter or
    /// digit: nothing is found by it.
    static func phrase(_ text: String) -> String? {
        let text = text.replacing("\0", with: " ")
        guard text.unicodeScalars.contains(where: { $0.properties.isAlphabetic || $0.properties.numericType != nil })
        else { return nil }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }
}
