/// OData 2.0's `$expand` and `$select`, whose paths go through navigation properties, as version 4's, where every level
/// has options of its own: `$expand=A/B&$select=Name,A/Size` is `$expand=A($expand=B;$select=Size)&$select=Name`.
///
/// What is expanded but not selected is left out (MS-ODATA, section 2.2.3.6.1.3).
struct PathOptions {
    private let options: [QueryOption]

    init(_ options: [QueryOption]) {
        self.options = options
    }

    /// The options in their order, with those two nested.
    var nested: [QueryOption] {
        var expanded: (paths: [Path], option: QueryOption)?
        var selected: (paths: [Path], option: QueryOption)?
        for option in options {
            switch option.form {
            case .expand(let items) where expanded == nil: expanded = (items.map { $0.path.segments[...] }, option)
            case .select(let items) where selected == nil: selected = (items.map { $0.path.segments[...] }, option)
            default: continue
            }
        }
        guard expanded != nil || selected != nil else { return options }
        let names = Names(expand: expanded?.option.nameRange, select: selected?.option.nameRange)
        let level = Self.level(expanded?.paths ?? [], selected?.paths, names)
        var isDone = (expand: false, select: false)
        return options.compactMap { option in
            switch option.form {
            // One that is there twice stays twice, which is refused later.
            case .expand where !isDone.expand:
                isDone.expand = true
                return level.first { if case .expand = $0.form { true } else { false } }
            case .select where !isDone.select:
                isDone.select = true
                return level.first { if case .select = $0.form { true } else { false } }
            default: return option
            }
        }
    }

    private typealias Path = ArraySlice<PathSegment>

    /// Where the two options' names stand.
    private struct Names {
        let expand: SourceRange?
        let select: SourceRange?
    }

    private static func level(_ expanded: [Path], _ selected: [Path]?, _ names: Names) -> [QueryOption] {
        var heads: [PathSegment] = []
        for head in expanded.compactMap(\.first) where !heads.contains(where: { $0.form == head.form }) {
            heads.append(head)
        }
        var options: [QueryOption] = []
        if let selected, let range = names.select {
            let items = items(selected, through: heads)
            options.append(QueryOption(.select(items), nameRange: range, range: range))
        }
        let items = heads.compactMap { head -> ExpandItem? in
            guard let inner = choice(head, selected) else { return nil }
            let rest = expanded.filter { $0.first?.form == head.form && $0.count > 1 }.map { $0.dropFirst() }
            return ExpandItem(MemberPath([head], head.range), options: level(rest, inner.selected, names))
        }
        if !items.isEmpty, let range = names.expand {
            options.append(QueryOption(.expand(items), nameRange: range, range: range))
        }
        return options
    }

    private enum Choice {
        case everything
        case paths([Path])

        var selected: [Path]? {
            if case .paths(let paths) = self { paths } else { nil }
        }
    }

    /// What is selected of an expanded property; nil where it is left out.
    private static func choice(_ head: PathSegment, _ selected: [Path]?) -> Choice? {
        guard let selected else { return .everything }
        let through = selected.filter { $0.first?.form == head.form }
        if through.contains(where: { $0.count == 1 }) { return .everything }
        if !through.isEmpty { return .paths(through.map { $0.dropFirst() }) }
        return selected.contains { $0.first?.form == .star } ? .everything : nil
    }

    /// Paths through what is expanded become its name alone.
    private static func items(_ selected: [Path], through heads: [PathSegment]) -> [SelectItem] {
        var items: [SelectItem] = []
        for path in selected {
            guard let first = path.first, let last = path.last else { continue }
            let isThrough = heads.contains { $0.form == first.form }
            let kept = isThrough ? [first] : Array(path)
            guard !items.contains(where: { $0.path.segments.map(\.form) == kept.map(\.form) }) else { continue }
            items.append(
                SelectItem(MemberPath(kept, first.range.through(isThrough ? first.range : last.range)), options: []))
        }
        return items
    }
}
