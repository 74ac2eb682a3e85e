import AdapterKit
import ODataLanguage
import ODataModel

/// The intermediate result of `$apply`: a relation with named columns.
///
/// Until the first aggregation the rows are entities; then they are columns of a nested relation.
struct AppliedRows {
    enum Content {
        /// Entities, narrowed and with computed values.
        case entities(EntitySource)
        /// Columns by path, in order.
        case columns([Column])
    }

    struct Column {
        let path: [String]
        let typed: TypedExpression
        /// Whether a row has it; nil: every row does.
        var presence: RowExpression?
    }

    var source: RelationSource
    var joins: [Join] = []
    var condition: RowExpression?
    var order: [RowOrder] = []
    var skip = 0
    var limit: Int?
    var content: Content
    var computed: [Column] = []
    /// Rows of joined entities; columns have them by path.
    var joined: [JoinedRows] = []
    /// Collections within the rows.
    var nested: [NestedRows] = []
    /// Where the rows belong to others (``Belonging``): values that tell to which. Every transformation is then carried out
    /// for each owner by itself.
    var belonging: Belonging?

    /// To which row around them the rows belong.
    struct Belonging {
        /// The values of the rows.
        var values: [RowExpression]
        /// All owners there are, each once; the same columns. An owner of nothing has aggregates too.
        let owners: Relation
        /// Owners that are nodes of hierarchies.
        var nodes: [RollupNode] = []
    }

    var owner: [RowExpression] { belonging?.values ?? [] }

    /// The scope of expressions.
    var scope: ExpressionScope {
        var scope: ExpressionScope
        switch content {
        case .entities(let entity): scope = ExpressionScope(.entity(entity))
        case .columns(let columns):
            let names = columns.map { ($0.path.joined(separator: "/"), $0.typed) }
            scope = ExpressionScope(.outputs(Dictionary(names, uniquingKeysWith: { first, _ in first })))
        }
        for joined in joined { scope.variables[joined.name] = joined.scope }
        for column in computed { scope.computed[column.path.joined(separator: "/")] = column.typed }
        scope.these = self
        scope.rollups = belonging?.nodes ?? []
        return scope
    }

    /// Everything that is there by name.
    var columns: [Column] {
        switch content {
        case .entities: computed
        case .columns(let columns): columns + computed
        }
    }

    var isRestricted: Bool { limit != nil || skip > 0 }

    /// The columns that make an order total: the key, or all.
    var tieBreak: [RowOrder] {
        switch content {
        case .entities(let entity):
            [RowOrder(.field(entity.source, entity.table.keyField))] + joined.flatMap(\.tieBreak)
        case .columns(let columns): columns.tieBreak + joined.flatMap(\.tieBreak)
        }
    }

    /// These rows with those columns; in a total order where a part of them is taken, otherwise in none. What belongs to
    /// an owner is a part of each owner's.
    func relation(_ columns: [RowExpression], groups: [RowExpression]? = nil) -> Relation {
        if isRestricted, belonging != nil {
            return Relation(
                source, joins: joins, where: condition, columns: columns, groups: groups, order: order + tieBreak,
                window: RowWindow(by: owner, skip: skip, limit: limit))
        }
        return Relation(
            source, joins: joins, where: condition, columns: columns, groups: groups,
            order: isRestricted ? order + tieBreak : [],
            start: skip > 0 ? .offset(skip) : .first, limit: limit)
    }
}

extension [AppliedRows.Column] {
    /// All that can be ordered, and whether it is there.
    var tieBreak: [RowOrder] {
        filter { $0.typed.type?.hasOrder ?? true }.map { RowOrder($0.typed.expression) }
            + compactMap(\.presence).map { RowOrder($0) }
    }
}

extension TypeReference {
    /// Whether values of it can be ordered.
    fileprivate var hasOrder: Bool {
        switch type {
        case .enumeration, .definition: !isCollection
        case .primitive(let primitive): !isCollection && !primitive.isSpatial
        case .complex, .entity, .abstract: false
        }
    }
}

// Entities of which a part was taken stay entities.
extension AppliedRows {
    /// The rows whose keys are left, as rows of a source of their own.
    func among(_ keys: Relation, _ reader: ExpressionReader) -> AppliedRows {
        guard case .entities(let entity) = content else { return self }
        let outer = EntitySource(source: reader.numbering.next(), table: entity.table, type: entity.type)
        var result = AppliedRows(
            source: .records(entity.table.entity, as: outer.source),
            condition: .among(.field(outer.source, entity.table.keyField), keys), content: .entities(outer))
        result.take(self, from: entity, to: outer)
        return result
    }

    /// The same rows as those of a nested relation, which has further columns; and what those are called from now on.
    func carrying(_ more: [RowExpression], _ applier: ApplyPlanner) -> (AppliedRows, [RowExpression]) {
        guard case .entities(let entity) = content, joined.isEmpty else { return applier.nested(self, carrying: more) }
        let name = applier.reader.numbering.next()
        let outer = EntitySource(source: applier.reader.numbering.next(), table: entity.table, type: entity.type)
        let values = owner + [.field(entity.source, entity.table.keyField)] + order.map(\.expression) + more
        let outputs = values.indices.map { RowExpression.output(name, $0) }
        let isSame = RowExpression.compare(
            .equal, .field(outer.source, entity.table.keyField), outputs[owner.count])
        var result = AppliedRows(
            source: .rows(relation(values), as: name),
            joins: [Join(.inner, .records(entity.table.entity, as: outer.source), on: isSame)],
            content: .entities(outer))
        result.take(self, from: entity, to: outer)
        result.order = zip(order, outputs.dropFirst(owner.count + 1)).map {
            RowOrder($1, descending: $0.isDescending)
        }
        result.belonging = belonging?.moved(to: name)
        return (result, Array(outputs.suffix(more.count)))
    }

    private mutating func take(_ rows: AppliedRows, from entity: EntitySource, to outer: EntitySource) {
        computed = rows.computed.map { $0.moved(from: entity.source, to: outer.source) }
        order = rows.order.map { order in
            RowOrder(order.expression.moved(from: entity.source, to: outer.source), descending: order.isDescending)
        }
        nested = rows.nested.map { $0.moved(from: entity.source, to: outer.source) }
    }
}

extension AppliedRows.Belonging {
    /// Where the rows have become those of a nested relation, whose first columns identify the owner.
    func moved(to name: SourceName) -> Self {
        identified(by: values.indices.map { .output(name, $0) })
    }

    /// By other values of the same owners.
    func identified(by values: [RowExpression]) -> Self {
        let nodes = nodes.map { RollupNode($0.hierarchy, owner: $0.owner, key: values[$0.owner]) }
        return Self(values: values, owners: owners, nodes: nodes)
    }
}

/// The entities of a navigation property, as rows that belong to their owners.
struct OwnedRows {
    let entity: EntitySource
    var rows: AppliedRows
    /// The values that identify the owner's row.
    let near: [RowExpression]
    /// Where, in whatever is made of the rows, only some owners' have to be read (``Relation/only(_:of:)``).
    let sources: [SourceName: RowExpression]
    let relation: RecordRelation

    /// Throws where the property leads to what is in no set.
    init(
        _ navigation: NavigationProperty, cast: QualifiedName?, from owner: EntitySource, _ reader: ExpressionReader,
        _ range: SourceRange
    ) throws(QueryProblem) {
        let linked = try reader.linked(navigation, from: owner, range)
        guard let relation = owner.table.relations[navigation.name] else {
            throw QueryProblem("\(navigation.name) leads to no entity set.", at: range)
        }
        var entity = linked.entity
        if let cast { entity.type = cast }
        let first = reader.numbering.next()
        let (far, nearFields) = Self.pairs(relation, linked, owner.table)
        let owners = nearFields.map { RowExpression.field(first, $0) }
        (self.entity, self.relation) = (entity, relation)
        near = nearFields.map { .field(owner.source, $0) }
        rows = AppliedRows(
            source: linked.source, joins: linked.joins, condition: cast.map { reader.isOf($0, entity) },
            content: .entities(entity))
        rows.belonging = AppliedRows.Belonging(
            values: far,
            owners: Relation(.records(owner.table.entity, as: first), columns: owners, isDistinct: true))
        var sources: [SourceName: RowExpression] = [first: owners[0]]
        if case .field(let source, _) = far[0] { sources[source] = far[0] }
        self.sources = sources
    }

    /// Restricts the rows to owners for which the condition is true.
    mutating func keep(_ condition: RowExpression?, of owner: EntitySource, _ reader: ExpressionReader) {
        guard let condition, let belonging = rows.belonging, case .records(_, let first) = belonging.owners.source
        else { return }
        var owners = belonging.owners
        owners.condition = condition.moved(from: owner.source, to: first)
        var kept = owners
        kept.columns = Array(owners.columns.prefix(1))
        rows.condition = reader.both(.among(belonging.values[0], kept), rows.condition)
        rows.belonging = AppliedRows.Belonging(values: belonging.values, owners: owners)
    }

    /// Values of the rows, and the fields of their owners that they equal.
    private static func pairs(
        _ relation: RecordRelation, _ linked: LinkedRows, _ owner: RecordTable
    ) -> ([RowExpression], [FieldName]) {
        switch relation {
        case .fields(_, let pairs, _):
            return (pairs.map { .field(linked.entity.source, $0.far) }, pairs.map(\.near))
        case .links(_, _, let near, _, _):
            guard case .records(_, let link) = linked.source else { return ([], []) }
            return ([.field(link, near)], [owner.keyField])
        }
    }
}

extension Relation {
    /// The same with what is read of its sources narrowed, however deep they stand.
    func only(_ values: [WireValue], of sources: [SourceName: RowExpression]) -> Relation {
        var result = self
        result.source = source.only(values, of: sources)
        result.joins = joins.map { Join($0.kind, $0.source.only(values, of: sources), on: $0.condition) }
        guard case .records(_, let name) = source, let own = sources[name] else { return result }
        let belongs = RowExpression.oneOf(own, values)
        result.condition = condition.map { .all([belongs, $0]) } ?? belongs
        return result
    }
}

extension RelationSource {
    fileprivate func only(_ values: [WireValue], of sources: [SourceName: RowExpression]) -> RelationSource {
        switch self {
        case .rows(let relation, let name): .rows(relation.only(values, of: sources), as: name)
        case .union(let relations, let name): .union(relations.map { $0.only(values, of: sources) }, as: name)
        case .records, .recursion, .found, .elements, .one: self
        }
    }
}

/// An entity or aggregated rows that `join` adds to each row.
struct JoinedRows {
    enum Content {
        case entity(EntitySource)
        case columns([AppliedRows.Column])
    }

    let name: String
    let content: Content
    /// Null where there is none.
    let presence: RowExpression

    /// The origin from which a path goes on behind the name.
    var scope: PathOrigin {
        switch content {
        case .entity(let entity): .entity(entity)
        case .columns(let columns):
            .outputs(
                Dictionary(
                    columns.map { ($0.path.joined(separator: "/"), $0.typed) },
                    uniquingKeysWith: { first, _ in first }))
        }
    }

    var tieBreak: [RowOrder] {
        switch content {
        case .entity: [RowOrder(presence)]
        case .columns(let columns): columns.tieBreak
        }
    }

    /// Below the name.
    func columns(_ applier: ApplyPlanner) -> [AppliedRows.Column] {
        switch content {
        case .entity(let entity): applier.properties(of: entity, below: [name])
        case .columns(let columns):
            columns.map { AppliedRows.Column(path: [name] + $0.path, typed: $0.typed) }
        }
    }
}

/// A collection that `addnested` or `nest` adds to each row: a relation of its own, matched by the owner's values.
struct NestedRows {
    let name: String
    /// The same wherever the rows that have it have gone.
    let number: SourceName
    let isCollection: Bool
    /// The set whose entities they are, or were made of.
    let set: String
    /// The values of the rows that have it.
    var near: [RowExpression]
    let level: LevelPlan
    let far: [RowExpression]
    let sources: [SourceName: RowExpression]

    init(
        _ name: String, isCollection: Bool, near: [RowExpression], _ made: (level: LevelPlan, far: [RowExpression]),
        _ applier: ApplyPlanner
    ) {
        (self.name, self.isCollection, self.near) = (name, isCollection, near)
        (level, far) = made
        number = applier.reader.numbering.next()
        (set, sources) = (applier.set, applier.sources)
    }

    func moved(from old: SourceName, to new: SourceName) -> Self {
        var result = self
        result.near = near.map { $0.moved(from: old, to: new) }
        return result
    }

    /// The same where the rows are those of a nested relation: they are found by its columns from `next` on.
    func found(in name: SourceName, from next: inout Int) -> Self {
        var result = self
        result.near = near.indices.map { .output(name, next + $0) }
        next += near.count
        return result
    }

    /// As it is read: `list` gets the columns that it is found by.
    func plan(_ list: inout ColumnList) -> ExpansionPlan {
        ExpansionPlan(
            property: name, relation: nil, owner: nil, isCollection: isCollection, content: .entities, level: level,
            near: near.map { list.position(of: $0, .string) }, far: far,
            made: ExpansionPlan.Made(set: set, sources: sources))
    }
}
