import AdapterKit
import RecordStorage

/// From a filter to an SQL condition with bound parameters.
///
/// SQL's logic has three values, ours two. A condition is compiled either as it is, where NULL counts as false (as it
/// does in `WHERE`, `AND` and `OR`), or negated; a negation is pushed down to the leaves, which become
/// `(condition) IS NOT TRUE`, true for NULL.
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
