import AdapterKit
import ODataLanguage
import ODataModel

/// Plans one expanded navigation property.
struct ExpansionBuilder {
    let outer: LevelBuilder
    let written: Written

    /// An item of `$expand`, resolved by the model.
    struct Written {
        let navigation: NavigationProperty
        /// A cast behind the property.
        let cast: QualifiedName?
        let content: ResultExpansion.Content
        let item: ExpandItem
    }

    /// One for each navigation property that the item names; `*` names all.
    static func items(_ item: ExpandItem, _ outer: LevelBuilder) throws(QueryProblem) -> [Written] {
        var type = outer.entity.type
        var segments = item.path.segments[...]
        let model = outer.reader.model
        while let name = segments.first?.name, name.namespace != nil {
            type = outer.reader.resolved(name)
            segments = segments.dropFirst()
        }
        guard let first = segments.first else { throw QueryProblem("$expand names properties.", at: item.path.range) }
        let rest = Array(segments.dropFirst())
        if case .star = first.form {
            let content = try content(rest)
            return (model.structured(type)?.navigation ?? []).filter { outer.entity.table.relations[$0.name] != nil }
                .map { Written(navigation: $0, cast: nil, content: content, item: item) }
        }
        guard let name = first.name?.name, let navigation = model.structured(type)?.navigation(name) else {
            let stream = first.name.map { outer.entity.table.streams[$0.name] != nil } ?? false
            throw QueryProblem(
                stream ? "Streams are not expanded." : "\(type.name) has no such navigation property.",
                at: first.range, kind: stream ? .notSupported : .invalid)
        }
        let casts = rest.compactMap(\.name).filter { $0.namespace != nil }
        let cast = casts.last.map { outer.reader.resolved($0) }
        if let cast, !model.type(cast, isA: navigation.target) {
            throw QueryProblem("\(cast) does not derive from \(navigation.target).", at: item.path.range)
        }
        return [Written(navigation: navigation, cast: cast, content: try content(rest), item: item)]
    }

    private static func content(_ rest: [PathSegment]) throws(QueryProblem) -> ResultExpansion.Content {
        for segment in rest where segment.name?.namespace == nil {
            switch segment.form {
            case .ref: return .references
            case .count: return .count
            default: throw QueryProblem("This cannot be expanded.", at: segment.range)
            }
        }
        return .entities
    }

    func plan(_ list: inout ColumnList) throws(QueryProblem) -> ExpansionPlan {
        let range = written.item.path.range
        guard outer.depth < outer.limits.expandDepth else {
            throw QueryProblem(
                "$expand goes at most \(outer.limits.expandDepth) levels deep.", at: range, kind: .limitExceeded)
        }
        outer.reader.numbering.expansions += 1
        guard outer.reader.numbering.expansions <= outer.limits.expansions else {
            throw QueryProblem(
                "A query expands at most \(outer.limits.expansions) properties.", at: range, kind: .limitExceeded)
        }
        let navigation = written.navigation
        let options = try options()
        if let apply = options.apply { return try applied(apply, options, &list) }
        var linked = try outer.reader.linked(navigation, from: outer.entity, range)
        let relation = try relation(range)
        let links = belonging(linked, relation, &list)
        var entity = linked.entity
        if let cast = written.cast { entity.type = cast }
        linked = LinkedRows(source: linked.source, joins: linked.joins, condition: linked.condition, entity: entity)
        let belongs = written.cast.map { outer.reader.isOf($0, entity) }
        var builder = try LevelBuilder(
            outer.reader, options, entity, limits: outer.limits, depth: outer.depth + 1)
        var level = try builder.level(linked.source, joins: linked.joins, where: belongs)
        level.relation.columns += links.far
        if let count = level.count ?? (written.content == .count ? counting(level.relation) : nil) {
            level.count = counted(count, by: links.far)
        }
        if options.top != nil || options.skip > 0, navigation.isCollection {
            level.relation.window = RowWindow(by: links.far, skip: options.skip, limit: options.top)
        }
        return ExpansionPlan(
            property: navigation.name, relation: relation, owner: outer.entity.table,
            isCollection: navigation.isCollection, content: written.content, level: level, near: links.near,
            far: links.far)
    }

    /// `$apply` among the options: carried out for each row's entities by itself.
    private func applied(
        _ transformations: [Transformation], _ options: LevelOptions, _ list: inout ColumnList
    ) throws(QueryProblem) -> ExpansionPlan {
        let (navigation, range) = (written.navigation, written.item.path.range)
        guard options.levels == nil else {
            throw QueryProblem("What $apply has made is not expanded again.", at: range, kind: .notSupported)
        }
        let owned = try OwnedRows(navigation, cast: written.cast, from: outer.entity, outer.reader, range)
        let applier = ApplyPlanner(
            reader: outer.reader, limits: outer.limits, depth: outer.depth + 1, set: owned.entity.table.source,
            sources: owned.sources)
        let applied = AppliedLevel(applier: applier, options: options)
        let rows = try applied.rows(transformations, of: owned.rows)
        var level = try applied.level(rows)
        level.relation.columns += rows.owner
        level.count = level.count.map { counted($0, by: rows.owner) }
        if options.top != nil || options.skip > 0 {
            level.relation.window = RowWindow(by: rows.owner, skip: options.skip, limit: options.top)
        }
        return ExpansionPlan(
            property: navigation.name, relation: nil, owner: outer.entity.table, isCollection: true,
            content: written.content, level: level, near: owned.near.map { list.position(of: $0, .string) },
            far: rows.owner, made: ExpansionPlan.Made(set: applier.set, sources: owned.sources))
    }

    private func counting(_ relation: Relation) -> Relation {
        Relation(
            relation.source, joins: relation.joins, where: relation.condition,
            columns: [.aggregate(.count, nil, isDistinct: false)])
    }

    private func counted(_ count: Relation, by far: [RowExpression]) -> Relation {
        var grouped = count
        grouped.columns = far + count.columns
        grouped.groups = far
        return grouped
    }

    private func relation(_ range: SourceRange) throws(QueryProblem) -> RecordRelation {
        guard let relation = outer.entity.table.relations[written.navigation.name] else {
            throw QueryProblem("\(written.navigation.name) leads to no entity set.", at: range)
        }
        return relation
    }

    /// Which columns of the rows around say what belongs to them, and what those are compared with here.
    private func belonging(
        _ rows: LinkedRows, _ relation: RecordRelation, _ list: inout ColumnList
    ) -> (near: [Int], far: [RowExpression]) {
        switch relation {
        case .fields(_, let pairs, _):
            let near = pairs.map { list.position(of: .field(outer.entity.source, $0.near), .string) }
            return (near, pairs.map { .field(rows.entity.source, $0.far) })
        case .links(_, _, let near, _, _):
            guard case .records(_, let link) = rows.source else { return ([], []) }
            let key = list.position(of: .field(outer.entity.source, outer.entity.table.keyField), .string)
            return ([key], [.field(link, near)])
        }
    }

    /// The item's options. With `$levels` the same item is nested within itself, one level less.
    private func options() throws(QueryProblem) -> LevelOptions {
        var options = try LevelOptions(written.item.options, limits: outer.limits)
        options.aliases = [:]
        if written.content != .entities, !options.expand.isEmpty || options.levels != nil {
            throw QueryProblem("Nothing is expanded of references and counts.", at: written.item.path.range)
        }
        if written.content == .references { options.select = [] }
        if !written.navigation.isCollection, !isStar { try checkSingle() }
        guard let levels = options.levels, let inner = try inner(levels) else { return options }
        options.expand.append(inner)
        return options
    }

    /// Checks that of one entity no part, order or number is asked for.
    private func checkSingle() throws(QueryProblem) {
        for option in written.item.options {
            switch option.form {
            case .top, .skip, .orderBy, .count, .apply:
                throw QueryProblem(
                    "\(option.form.name ?? "This option") is for collections, and \(written.navigation.name) is one entity.",
                    at: option.range)
            default: continue
            }
        }
    }

    private func inner(_ levels: Levels) throws(QueryProblem) -> ExpandItem? {
        let range = written.item.path.range
        let left: Int
        switch levels {
        case .max: left = outer.limits.expandDepth - outer.depth
        case .number(let digits):
            guard let number = try LevelOptions.number(digits, range), number > 0,
                number + outer.depth <= outer.limits.expandDepth
            else {
                throw QueryProblem(
                    "$levels is 1 to \(outer.limits.expandDepth - outer.depth) here.", at: range, kind: .limitExceeded)
            }
            left = number
        }
        let target = outer.reader.model.structured(written.cast ?? written.navigation.target)
        let goesOn = isStar ? target?.navigation.isEmpty == false : target?.navigation(written.navigation.name) != nil
        guard left > 1 else { return nil }
        guard goesOn else {
            if isStar { return nil }
            throw QueryProblem("\(written.navigation.name) does not lead to itself: there are no $levels.", at: range)
        }
        let others = written.item.options.filter { if case .levels = $0.form { false } else { true } }
        let option = QueryOption(.levels(.number(String(left - 1))), nameRange: range, range: range)
        let own = written.item.path.segments.filter { $0.name?.name == written.navigation.name }
        let path = MemberPath(.current, isStar ? written.item.path.segments : own, range)
        return ExpandItem(path, options: others + [option])
    }

    private var isStar: Bool {
        written.item.path.segments.contains { if case .star = $0.form { true } else { false } }
    }
}
