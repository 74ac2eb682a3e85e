import AdapterKit
import RecordStorage

/// From a filter to an SQL condition with bound parameters.
///
/// SQL's logic has three values, ours two. A condition is compiled either as it is, where NULL counts as false (as it
/// does in `WHERE`, `AND` and `OR`), or negated; a negation is pushed down to the leaves, which become
/// `(condition) IS NOT TRUE`, true for NULL.
struct FilterCompiler {
    let catalogue: LayoutCatalogue

    /// What selects the rows that meet a filter.
    struct FilteredRows {
        /// Of `FROM`.
        var source: SQLFragment
        var condition: SQLFragment?
        /// Whether a search finds the rows.
        var isSearch = false
    }

    /// A search that all rows meet is joined: as a condition, what it finds would be put into a table first. It is the
    /// outer table: SQLite takes another field's index for better, and would search for each of its rows. Throws as
    /// ``condition(_:in:)`` does.
    func filteredRows(_ filter: Filter?, in layout: CollectionLayout) throws(PorticoError) -> FilteredRows {
        let whole = SQLFragment(layout.table)
        guard let filter else { return FilteredRows(source: whole) }
        guard layout.hasSearch, let (words, rest) = filter.separatingSearch,
            let expression = SearchExpression.text(words)
        else { return FilteredRows(source: whole, condition: try condition(filter, in: layout)) }
        try FilterLimits.standard.check(filter)
        let (table, row) = (layout.names.search.quotedIdentifier, "\"_found\"")
        let found = "(SELECT rowid AS \(row) FROM \(table) WHERE \(table) MATCH ?)"
        return FilteredRows(
            source: SQLFragment(
                "\(found) CROSS JOIN \(layout.table) ON \(layout.rowColumn) = \(row)", [.text(expression)]),
            condition: try rest.map { (rest) throws(PorticoError) in try compile(rest, in: layout, negated: false) },
            isSearch: true)
    }

    /// Throws `request.limitExceeded` and `request.invalid`.
    func condition(_ filter: Filter, in layout: CollectionLayout) throws(PorticoError) -> SQLFragment {
        try FilterLimits.standard.check(filter)
        return try compile(filter, in: layout, negated: false)
    }

    private func compile(
        _ filter: Filter, in layout: CollectionLayout, negated: Bool
    ) throws(PorticoError) -> SQLFragment {
        switch filter {
        case .all(let parts): return try join(parts, in: layout, with: negated ? " OR " : " AND ", negated)
        case .any(let parts): return try join(parts, in: layout, with: negated ? " AND " : " OR ", negated)
        case .not(let inner): return try compile(inner, in: layout, negated: !negated)
        case .compare(let field, .notEqual, let value):
            return try compile(.compare(field, .equal, value), in: layout, negated: !negated)
        default:
            let leaf = try leaf(filter, in: layout)
            return negated ? SQLFragment("((\(leaf.sql)) IS NOT TRUE)", leaf.values) : leaf
        }
    }

    private func join(
        _ parts: [Filter], in layout: CollectionLayout, with connective: String, _ negated: Bool
    ) throws(PorticoError) -> SQLFragment {
        guard !parts.isEmpty else { return SQLFragment(connective == " AND " ? "1" : "0") }
        var joined = SQLFragment("(")
        for (position, part) in parts.enumerated() {
            if position > 0 { joined.append(connective) }
            let compiled = try compile(part, in: layout, negated: negated)
            joined.append(compiled.sql, compiled.values)
        }
        joined.append(")")
        return joined
    }

    private func leaf(_ filter: Filter, in layout: CollectionLayout) throws(PorticoError) -> SQLFragment {
        switch filter {
        case .compare(let field, let comparison, let value):
            return try layout.column(field).condition(comparison, value)
        case .isNull(let field): return SQLFragment("\(try layout.column(field).name) IS NULL")
        case .oneOf(let field, let values): return try layout.column(field).condition(oneOf: values)
        case .hasPrefix(let field, let text): return try layout.column(field).condition(hasPrefix: text)
        case .hasSuffix(let field, let text): return try layout.column(field).condition(hasSuffix: text)
        case .containsText(let field, let text): return try layout.column(field).condition(contains: text)
        case .listContains(let field, let value): return try layout.condition(list: field, contains: value)
        case .search(let words): return try layout.condition(search: words)
        case .related(let field, let name, let inner): return try related(field, name, inner, in: layout)
        case .all, .any, .not: return try compile(filter, in: layout, negated: false)
        }
    }

    private func related(
        _ field: FieldName, _ name: EntityName, _ inner: Filter, in layout: CollectionLayout
    ) throws(PorticoError) -> SQLFragment {
        let other = try catalogue.layout(CollectionID(layout.id.adapter, name))
        let column = try layout.column(field)
        guard column.kind == other.key.kind else {
            throw PorticoError(
                .requestInvalid, "`\(field)` cannot hold the id of a record of \(name).", target: field.text)
        }
        let condition = try compile(inner, in: other, negated: false)
        return SQLFragment(
            "\(column.name) IN (SELECT \(other.key.name) FROM \(other.table) WHERE \(condition.sql))", condition.values)
    }
}

extension Filter {
    /// The words of one search that every record meets, and what else there is to meet; nil without such a search.
    fileprivate var separatingSearch: (words: [String], rest: Filter?)? {
        switch self {
        case .search(let words): return (words, nil)
        case .all(var parts):
            for (index, part) in parts.enumerated() {
                guard let (words, rest) = part.separatingSearch else { continue }
                if let rest { parts[index] = rest } else { parts.remove(at: index) }
                return (words, parts.isEmpty ? nil : .all(parts))
            }
            return nil
        default: return nil
        }
    }
}

// Conditions that go through a table beside the collection's own.
extension CollectionLayout {
    func condition(list field: FieldName, contains value: WireValue) throws(PorticoError) -> SQLFragment {
        let column = try column(field)
        guard case .list(let element) = column.kind else {
            throw PorticoError(.requestInvalid, "`\(field)` is no list of single values.", target: field.text)
        }
        if value.isNull { return SQLFragment("0") }
        let table = names.list(field).quotedIdentifier
        return SQLFragment(
            "\(rowColumn) IN (SELECT row FROM \(table) WHERE value = ?)", [try column.comparable(value, element)])
    }

    /// Throws `record.searchUnavailable` where the entity declares no search fields.
    func condition(search words: [String]) throws(PorticoError) -> SQLFragment {
        guard hasSearch else {
            throw PorticoError(.searchUnavailable, "\(entity.name) has no full-text search.", target: "search")
        }
        guard let expression = SearchExpression.text(words) else { return SQLFragment("1") }
        let table = names.search.quotedIdentifier
        return SQLFragment("\(rowColumn) IN (SELECT rowid FROM \(table) WHERE \(table) MATCH ?)", [.text(expression)])
    }
}

// Conditions on one column; NULL where the column is.
extension Column {
    /// A comparison with null is never true.
    func condition(_ comparison: Comparison, _ value: WireValue) throws(PorticoError) -> SQLFragment {
        let scalar = try scalar()
        if value.isNull { return SQLFragment("0") }
        return SQLFragment("\(comparisonName) \(comparison.sqlOperator) ?", [try comparable(value, scalar)])
    }

    func condition(oneOf values: [WireValue]) throws(PorticoError) -> SQLFragment {
        let scalar = try scalar()
        var bound: [SQLValue] = []
        for value in values where !value.isNull { bound.append(try comparable(value, scalar)) }
        if bound.isEmpty { return SQLFragment("0") }
        let places = Array(repeating: "?", count: bound.count).joined(separator: ", ")
        return SQLFragment("\(comparisonName) IN (\(places))", bound)
    }

    /// A range, so that an index is used; `LIKE` would read every row.
    func condition(hasPrefix text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        guard let end = Self.end(ofPrefix: Array(text.utf8)) else { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment("(\(name) >= ? AND \(name) < ?)", [.text(text), .textBytes(end)])
    }

    /// As bytes, so that case, accents and NUL characters count.
    func condition(hasSuffix text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        let bytes = Array(text.utf8)
        if bytes.isEmpty { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment(
            "substr(CAST(\(name) AS BLOB), ?) = ?", [.integer(-Int64(bytes.count)), .blob(bytes)])
    }

    func condition(contains text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        if text.isEmpty { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment("portico_contains(\(name), ?)", [.text(text)])
    }

    /// Throws `request.invalid` where the value cannot be compared with this column's.
    func comparable(_ value: WireValue, _ scalar: ScalarKind) throws(PorticoError) -> SQLValue {
        guard let bound = scalar.comparable(value) else {
            throw PorticoError(
                .requestInvalid, "`\(field.name)` cannot be compared with such a value.", target: field.name.text)
        }
        return bound
    }

    func scalar() throws(PorticoError) -> ScalarKind {
        guard case .scalar(let scalar) = kind else {
            throw PorticoError(.requestInvalid, "`\(field.name)` is no single value.", target: field.name.text)
        }
        return scalar
    }

    private func checkIsText() throws(PorticoError) {
        guard kind == .scalar(.text) else {
            throw PorticoError(.requestInvalid, "`\(field.name)` is no text.", target: field.name.text)
        }
    }

    /// The smallest bytes that are larger than everything with this prefix. UTF-8 has no byte 0xFF, so only the empty
    /// prefix has no end.
    private static func end(ofPrefix bytes: [UInt8]) -> [UInt8]? {
        guard let last = bytes.last else { return nil }
        return bytes.dropLast() + [last + 1]
    }
}

extension Comparison {
    var sqlOperator: String {
        switch self {
        case .equal: "="
        case .notEqual: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}

/// An FTS5 expression from words that users typed.
///
/// Every word becomes a quoted string followed by `*`: a prefix query, in which no character means anything to FTS5. A
/// word with punctuation within (`o'neil`) is several tokens to FTS5, which must then follow each other.
enum SearchExpression {
    /// Nil where no word holds a letter or a digit: then nothing is asked for.
    static func text(_ words: [String]) -> String? {
        let terms = words.map { word in
            word.replacing("\0", with: " ")
        }.filter { word in
            word.unicodeScalars.contains { $0.properties.isAlphabetic || $0.properties.numericType != nil }
        }
        guard !terms.isEmpty else { return nil }
        return terms.map { "\"\($0.replacing("\"", with: "\"\""))\"*" }.joined(separator: " AND ")
    }
}
