import AdapterKit
import RecordStorage

/// Compiles a filter to an SQL condition with bound parameters.
///
/// SQL's logic has three values, ours two. A condition is compiled either as it is, where NULL counts as false, or
/// negated; a negation is pushed down to the leaves, which become `(condition) IS NOT TRUE`, true for NULL.
struct FilterCompiler {
    let catalogue: LayoutCatalogue

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
        guard !parts.isEmpty else { return connective == " AND " ? .always : .never }
        var joined = SQLFragment("(")
        for (position, part) in parts.enumerated() {
            if position > 0 { joined.append(connective) }
            joined.append(try compile(part, in: layout, negated: negated))
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
        case .listContains(let field, let value): return try layout.column(field).condition(listContains: value)
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

extension SQLFragment {
    static let always = SQLFragment("true")
    static let never = SQLFragment("false")
}

extension CollectionLayout {
    /// Throws `record.searchUnavailable` where the entity declares no search fields.
    func condition(search words: [String]) throws(PorticoError) -> SQLFragment {
        guard hasSearch else {
            throw PorticoError(.searchUnavailable, "\(entity.name) has no full-text search.", target: "search")
        }
        var condition = SQLFragment("(true")
        for word in words {
            guard let sought = SearchText.sought(word) else { continue }
            condition.append(" AND position(? in \(table).\(Self.searchColumn)) > 0", [.text(sought)])
        }
        condition.append(")")
        return condition
    }
}

// Conditions on one column; NULL where the column is.
extension Column {
    /// A comparison with null is never true.
    func condition(_ comparison: Comparison, _ value: WireValue) throws(PorticoError) -> SQLFragment {
        let scalar = try scalar()
        if value.isNull { return .never }
        if let bound = ExactBound(value, for: scalar) { return bound.condition(comparison, on: comparisonName) }
        return SQLFragment("\(comparisonName) \(comparison.sqlOperator) ?", [try comparable(value, scalar)])
    }

    func condition(oneOf values: [WireValue]) throws(PorticoError) -> SQLFragment {
        let scalar = try scalar()
        var bound: [SQLValue] = []
        for value in values where !value.isNull {
            if let exact = ExactBound(value, for: scalar) {
                if let equal = exact.equal { bound.append(equal) }
            } else {
                bound.append(try comparable(value, scalar))
            }
        }
        if bound.isEmpty { return .never }
        return SQLFragment("\(comparisonName) = ANY(?)", [.array(scalar.sqlType, bound)])
    }

    /// A range, so that an index is used.
    func condition(hasPrefix text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        let bytes = Array(text.utf8)
        // UTF-8 has no byte 0xFF, so only the empty prefix has no end.
        guard let last = bytes.last else { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment("(\(name) >= ? AND \(name) < ?)", [.bytes(bytes), .bytes(bytes.dropLast() + [last + 1])])
    }

    func condition(hasSuffix text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        let bytes = Array(text.utf8)
        if bytes.isEmpty { return SQLFragment("\(name) IS NOT NULL") }
        let start = "octet_length(\(name)) - \(bytes.count - 1)"
        return SQLFragment(
            "(octet_length(\(name)) >= \(bytes.count) AND substring(\(name) from \(start)) = ?)", [.bytes(bytes)])
    }

    func condition(contains text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        if text.isEmpty { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment("position(? in \(name)) > 0", [.text(text)])
    }

    func condition(listContains value: WireValue) throws(PorticoError) -> SQLFragment {
        guard case .list(let element) = kind else {
            throw PorticoError(.requestInvalid, "`\(field.name)` is no list of single values.", target: field.name.text)
        }
        if value.isNull { return .never }
        if let key = element.elementKey(value) {
            return SQLFragment("\(elementsName) @> ?", [.array(.bytes, [.bytes(key)])])
        }
        // A number of the other kind that no element equals.
        if element == .integer, value.doubleValue != nil { return .never }
        _ = try comparable(value, element)
        return .never
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
}

/// A number of one kind between the values of a column of the other: PostgreSQL would round the integer to a double.
struct ExactBound {
    /// The largest value of the column that is not above the number; nil: none.
    private let below: SQLValue?
    /// The smallest value of the column that is not below it; nil: none.
    private let above: SQLValue?
    /// The value of the column that equals the number.
    let equal: SQLValue?

    /// Nil where the value is of the column's own kind, or no number.
    init?(_ value: WireValue, for scalar: ScalarKind) {
        switch (scalar, value) {
        case (.integer, .double(let number)) where !number.isNaN:
            let (lower, upper) = (number.rounded(.down), number.rounded(.up))
            below = lower >= 0x1p63 ? .integer(.max) : Int64(exactly: lower).map { .integer($0) }
            above = upper < -0x1p63 ? .integer(.min) : Int64(exactly: upper).map { .integer($0) }
            equal = Int64(exactly: number).map { .integer($0) }
        case (.double, .int64(let number)):
            let near = Double(number)
            if Int64(exactly: near) == number {
                (below, above, equal) = (.real(near), .real(near), .real(near))
            } else {
                // Rounding up may reach 2⁶³, which is above every integer.
                let isAbove = Int64(exactly: near).map { $0 > number } ?? true
                (below, above) = (.real(isAbove ? near.nextDown : near), .real(isAbove ? near : near.nextUp))
                equal = nil
            }
        default: return nil
        }
    }

    func condition(_ comparison: Comparison, on column: String) -> SQLFragment {
        func compare(_ sign: String, _ bound: SQLValue?) -> SQLFragment {
            bound.map { SQLFragment("\(column) \(sign) ?", [$0]) } ?? .never
        }
        return switch comparison {
        case .equal, .notEqual: compare("=", equal)
        case .less: equal == nil ? compare("<=", below) : compare("<", equal)
        case .lessOrEqual: compare("<=", below)
        case .greater: equal == nil ? compare(">=", above) : compare(">", equal)
        case .greaterOrEqual: compare(">=", above)
        }
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
