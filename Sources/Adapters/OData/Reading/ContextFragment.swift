import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// What follows `$metadata#` in context URLs (Protocol 4.01, section 10).
struct ContextFragment: Sendable {
    let options: [QueryOption]
    let version: String

    func collection(_ place: EntityCollectionPath) -> String {
        base(place.table, place.type) + list(options)
    }

    /// A page of a query: what its options tell, and what `$apply` made.
    func page(_ shape: ResultShape, _ place: EntityCollectionPath) -> String {
        let base = base(place.table, place.type)
        guard shape.table != nil else { return Self.applied(shape, base) }
        let told = names(options)
        let made = shape.expansions.filter { $0.set != nil }.map { "\($0.property)()" }
        return base + Self.listed(told + made.filter { !told.contains($0) })
    }

    func entity(_ place: EntityPlace) -> String {
        let base = base(place.table, place.type) + list(options)
        return place.table.isSingleton ? base : "\(base)/$entity"
    }

    /// Of rows that `$apply` made, or added collections to.
    static func applied(_ shape: ResultShape, _ source: String) -> String {
        let columns = shape.table == nil ? shape.columns : []
        var names = nested(columns.filter(\.isVisible).map { $0.path[...] })
        for expansion in shape.expansions { names.append("\(expansion.property)()") }
        return source + listed(names)
    }

    /// Of a collection, or the one entity, that `$apply` put into rows.
    static func applied(_ expansion: ResultExpansion) -> String? {
        expansion.set.map { applied(expansion.shape, $0) + (expansion.isCollection ? "" : "/$entity") }
    }

    /// `Category(Name),Total`: paths with one beginning stand in its parentheses.
    private static func nested(_ paths: [ArraySlice<String>]) -> [String] {
        var names: [String] = []
        var done: Set<String> = []
        for path in paths {
            guard let first = path.first, done.insert(first).inserted else { continue }
            let inner = paths.filter { $0.first == first && $0.count > 1 }.map { $0.dropFirst() }
            names.append(inner.isEmpty ? first : "\(first)(\(nested(inner).joined(separator: ",")))")
        }
        return names
    }

    private func base(_ table: RecordTable, _ type: StructuredType) -> String {
        type.name == table.type.name ? table.source : "\(table.source)/\(type.name)"
    }

    /// What is selected and expanded, in parentheses; empty where that is everything.
    private func list(_ options: [QueryOption]) -> String { Self.listed(names(options)) }

    private static func listed(_ names: [String]) -> String {
        names.isEmpty ? "" : "(\(names.joined(separator: ",")))"
    }

    private func names(_ options: [QueryOption]) -> [String] {
        var names: [String] = []
        for option in options {
            switch option.form {
            case .select(let items): names += items.map { Self.text($0.path) }
            case .expand(let items): names += items.compactMap(expanded)
            case .compute(let items) where !options.contains(where: \.isSelect): names += ["*"] + items.map(\.name)
            default: continue
            }
        }
        return names
    }

    private func expanded(_ item: ExpandItem) -> String? {
        let path = Self.text(item.path)
        guard path != "*", !path.isEmpty else { return nil }
        let inner = list(item.options)
        return inner.isEmpty ? "\(path)()" : path + inner
    }

    private static func text(_ path: MemberPath) -> String {
        path.segments.compactMap { segment in
            switch segment.form {
            case .name(let name): name.description
            case .star: "*"
            default: nil
            }
        }.joined(separator: "/")
    }
}

extension QueryOption {
    var isSelect: Bool {
        if case .select = form { true } else { false }
    }
}
