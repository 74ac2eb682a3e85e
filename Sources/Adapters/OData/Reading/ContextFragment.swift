import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// What follows `$metadata#` in context URLs (Protocol 4.01, section 10).
struct ContextFragment: Sendable {
    let options: [QueryOption]
    let version: String

    func collection(_ place: EntitiesPlace) -> String {
        base(place.table, place.type) + list(options)
    }

    func entity(_ place: EntityPlace) -> String {
        let base = base(place.table, place.type) + list(options)
        return place.table.isSingleton ? base : "\(base)/$entity"
    }

    /// Of rows that `$apply` made.
    func applied(_ shape: ResultShape, _ source: String) -> String {
        "\(source)(\(Self.nested(shape.columns.filter(\.isVisible).map { $0.path[...] })))"
    }

    /// `Category(Name),Total`: paths with one beginning stand in its parentheses.
    private static func nested(_ paths: [ArraySlice<String>]) -> String {
        var names: [String] = []
        var done: Set<String> = []
        for path in paths {
            guard let first = path.first, done.insert(first).inserted else { continue }
            let inner = paths.filter { $0.first == first && $0.count > 1 }.map { $0.dropFirst() }
            names.append(inner.isEmpty ? first : "\(first)(\(nested(inner)))")
        }
        return names.joined(separator: ",")
    }

    private func base(_ table: RecordTable, _ type: StructuredType) -> String {
        type.name == table.type.name ? table.source : "\(table.source)/\(type.name)"
    }

    /// What is selected and expanded, in parentheses; empty where that is everything.
    private func list(_ options: [QueryOption]) -> String {
        var names: [String] = []
        for option in options {
            switch option.form {
            case .select(let items): names += items.map { Self.text($0.path) }
            case .expand(let items): names += items.compactMap(expanded)
            case .compute(let items) where !options.contains(where: \.isSelect): names += ["*"] + items.map(\.name)
            default: continue
            }
        }
        return names.isEmpty ? "" : "(\(names.joined(separator: ",")))"
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
