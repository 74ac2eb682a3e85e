import AdapterKit
import RecordStorage
import WireFormats

// Functions: what SQLite has as it has it, the rest by functions of ours on the connection.
extension ExpressionCompiler {
    func call(_ function: RowFunction, _ arguments: [RowExpression]) throws(PorticoError) -> TypedSQL {
        let signature = function.signature
        guard let values = signature.fitted(try all(arguments)) else {
            throw Self.invalid("\(function.rawValue) does not take such values.")
        }
        // Of a field only: the text is named twice in a range, and an index on anything else is not there.
        if function == .startsWith, case .field = arguments[0], case .value(.string(let prefix)) = arguments[1] {
            return TypedSQL(Self.hasPrefix(prefix, values[0].fragment), .bool)
        }
        if function == .matches, case .value(.string(let pattern)) = arguments[1], Pattern.compiled(pattern) == nil {
            throw Self.invalid("The pattern is none that can be searched for.")
        }
        let kind = signature.result ?? values[0].kind
        let parts = values.map(\.fragment)
        switch function {
        case .length: return TypedSQL(.build("length($)", parts), kind)
        case .concatenate: return TypedSQL(.balanced(parts, " || "), kind)
        case .bits: return TypedSQL(.build("($ & $)", parts), kind)
        case .negate where kind != .decimal: return TypedSQL(.build("(-$)", parts), kind)
        case .round, .floor, .ceiling: return rounded(function, values[0])
        case .toInteger, .toDouble, .toDecimal, .toText, .toDate: return converted(values[0], to: kind)
        default: return TypedSQL(.build("portico_\(function.rawValue)($)", [.list(parts)]), kind)
        }
    }

    private func rounded(_ function: RowFunction, _ value: TypedSQL) -> TypedSQL {
        guard value.kind == .double || value.kind == .decimal else { return value }
        let kind = value.kind?.rawValue ?? ""
        return TypedSQL(.build("portico_\(kind)_\(function.rawValue)($)", [value.fragment]), value.kind)
    }

    private func converted(_ value: TypedSQL, to kind: RowValueType?) -> TypedSQL {
        guard let from = value.kind, let kind, from != kind else { return TypedSQL(value.fragment, kind) }
        return TypedSQL(.build("portico_to_\(kind.rawValue)('\(from.rawValue)', $)", [value.fragment]), kind)
    }

    /// A range, so that an index is used. Names the field twice.
    private static func hasPrefix(_ prefix: String, _ text: SQLFragment) -> SQLFragment {
        guard let last = prefix.utf8.last else { return .build("portico_startsWith($, '')", [text]) }
        let end = Array(prefix.utf8.dropLast()) + [last + 1]
        return .build(
            "($ >= $ AND $ < $)",
            [text, SQLFragment("?", [.text(prefix)]), text, SQLFragment("?", [.textBytes(end)])])
    }
}

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

    private static func key(_ value: WireValue, _ kind: RowValueType?) -> SQLValue? {
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
            // SQLite ends a text of JSON at a NUL character.
            case .text(let text) where !text.utf8.contains(0): items.append(.string(text))
            default: return nil
            }
        }
        guard let bytes = try? JSONFormat().write(.array(items)) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a list of a record has a value, by the table of the list's elements; nil where the expression asks something
    /// else. False for null.
    func element(_ expression: RowExpression) throws(PorticoError) -> SQLFragment? {
        guard case .call(.listContains, let arguments) = expression, arguments.count == 2,
            case .field(let source, let name) = arguments[0], case .value(.array(let part)) = arguments[1],
            part.count == 1
        else { return nil }
        let layout = try relations.scope.layout(source)
        guard case .list(let element) = try layout.column(name).kind, let value = element.comparable(part[0]) else {
            return nil
        }
        try budget.count(2)
        let table = layout.names.list(name).quotedIdentifier
        return SQLFragment(
            "\(source.sql).\(layout.rowColumn) IN (SELECT row FROM \(table) WHERE value = ?)", [value])
    }

    func member(of whole: RowExpression, _ steps: [RowStep], _ kind: RowValueType) throws(PorticoError) -> TypedSQL {
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
        if let expression = SearchExpression.text(search) {
            let table = layout.names.search.quotedIdentifier
            return SQLFragment(
                "(\(source.sql).\(layout.rowColumn) IN (SELECT rowid FROM \(table) WHERE \(table) MATCH ?))",
                [.text(expression)])
        }
        switch search {
        case .all(let parts): return .balanced(try found(parts, in: layout, source, empty: "1"), " AND ")
        case .any(let parts): return .balanced(try found(parts, in: layout, source, empty: "0"), " OR ")
        case .not(let inner): return .build("(NOT $)", [try found(inner, in: layout, source)])
        case .word, .phrase, .prefix: return SQLFragment("0")
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

/// Expressions of FTS5, in which no character of a text that is searched for means anything.
enum SearchExpression {
    /// One expression for the whole search; nil where there is none: a search for what is not there, or for a text without
    /// a letter or digit, by which nothing is found.
    static func text(_ search: RowSearch) -> String? {
        switch search {
        case .word(let text), .phrase(let text): phrase(text)
        case .prefix(let text): phrase(text).map { $0 + "*" }
        case .all(let parts): joined(parts, " AND ")
        case .any(let parts): joined(parts, " OR ")
        case .not: nil
        }
    }

    private static func joined(_ parts: [RowSearch], _ connective: String) -> String? {
        let texts = parts.compactMap { text($0) }
        guard !texts.isEmpty, texts.count == parts.count else { return nil }
        return texts.count == 1 ? texts[0] : "(\(texts.joined(separator: connective)))"
    }

    /// Whole words that follow each other: a text with punctuation within (`o'neil`) is several words to FTS5.
    private static func phrase(_ text: String) -> String? {
        guard text.hasLetterOrDigit else { return nil }
        return "\"\(text.replacing("\0", with: " ").replacing("\"", with: "\"\""))\""
    }
}

/// What a function takes and gives.
struct FunctionSignature {
    enum Parameter {
        case kind(RowValueType)
        /// Any kind of number.
        case number
        /// An instant, or a text that spells a day or a time of day.
        case calendar
        case any
    }

    let parameters: [Parameter]
    /// How many of the parameters, from the end, may be left out.
    var optional = 0
    /// Whether the last parameter may come again.
    var repeats = false
    /// Nil: the kind of the first value.
    let result: RowValueType?

    /// The values as the function gets them; nil where it does not take them.
    func fitted(_ values: [TypedSQL]) -> [TypedSQL]? {
        guard values.count >= parameters.count - optional, repeats || values.count <= parameters.count else {
            return nil
        }
        var fitted: [TypedSQL] = []
        for (position, value) in values.enumerated() {
            let parameter = parameters[min(position, parameters.count - 1)]
            guard let one = parameter.fitted(value) else { return nil }
            fitted.append(one)
        }
        return fitted
    }
}

extension FunctionSignature.Parameter {
    fileprivate func fitted(_ value: TypedSQL) -> TypedSQL? {
        guard let kind = value.kind else { return value }
        switch self {
        case .any: return value
        case .number: return kind.isNumber ? value : nil
        case .calendar: return kind == .date || kind == .text ? value : nil
        case .kind(let wanted):
            if kind == wanted { return value }
            return kind.isNumber && (wanted == .decimal || wanted == .double) ? value.converted(to: wanted) : nil
        }
    }
}

extension RowFunction {
    var signature: FunctionSignature {
        switch self {
        case .contains, .startsWith, .endsWith, .matches: Self.kinds(.text, .text, .bool)
        case .length: Self.kinds(.text, .integer)
        case .indexOf: Self.kinds(.text, .text, .integer)
        case .substring:
            FunctionSignature(parameters: [.kind(.text), .kind(.integer), .kind(.integer)], optional: 1, result: .text)
        case .lowercase, .uppercase, .trim: Self.kinds(.text, .text)
        case .replace: Self.kinds(.text, .text, .text, .text)
        case .concatenate: FunctionSignature(parameters: [.kind(.text)], repeats: true, result: .text)
        case .round, .floor, .ceiling, .negate: FunctionSignature(parameters: [.number], result: nil)
        case .bits: Self.kinds(.integer, .integer, .integer)
        case .year, .month, .day, .hour, .minute, .second:
            FunctionSignature(parameters: [.calendar], result: .integer)
        case .fractionalSecond: FunctionSignature(parameters: [.calendar], result: .decimal)
        case .dayOf, .timeOf: Self.kinds(.date, .text)
        case .dayPlus: Self.kinds(.text, .decimal, .text)
        case .dayDifference: Self.kinds(.text, .text, .decimal)
        case .toText: FunctionSignature(parameters: [.any], result: .text)
        case .toInteger: FunctionSignature(parameters: [.any], result: .integer)
        case .toDecimal: FunctionSignature(parameters: [.any], result: .decimal)
        case .toDouble: FunctionSignature(parameters: [.any], result: .double)
        case .toDate: FunctionSignature(parameters: [.any], result: .date)
        case .count: Self.kinds(.tree, .integer)
        case .listContains, .listStartsWith, .listEndsWith, .hasSubset, .hasSubsequence:
            Self.kinds(.tree, .tree, .bool)
        case .distance: Self.kinds(.tree, .tree, .double)
        case .lineLength: Self.kinds(.tree, .double)
        case .intersects: Self.kinds(.tree, .tree, .bool)
        }
    }

    /// The last one is the result's.
    private static func kinds(_ all: RowValueType...) -> FunctionSignature {
        FunctionSignature(parameters: all.dropLast().map { .kind($0) }, result: all.last)
    }
}
