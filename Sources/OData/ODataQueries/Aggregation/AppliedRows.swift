import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// What the transformations of `$apply` have made so far: a relation whose columns have names.
///
/// Until something is aggregated the rows are entities; from then on they are columns of a nested relation.
struct AppliedRows {
    enum Content {
        /// Entities, narrowed and with computed values.
        case entities(EntityPlace)
        /// Columns by path, in order.
        case columns([Column])
    }

    struct Column {
        let path: [String]
        let meaning: TypedExpression
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
    /// Of entities; columns have them by path.
    var joined: [JoinedRows] = []
    /// Collections within the rows.
    var nested: [NestedRows] = []
    /// Where the rows belong to others (``Belonging``): values that tell to which. Every transformation is then carried out
    /// for each owner by itself.
    var belonging: Belonging?

    /// To which row around them the rows belong.
    struct Belonging {
        /// Of the rows.
        var values: [RowExpression]
        /// All owners there are, each once; the same columns. An owner of nothing has aggregates too.
        let owners: Relation
        /// Owners that are nodes of hierarchies.
        var nodes: [RollupNode] = []
    }

    var owner: [RowExpression] { belonging?.values ?? [] }

    /// Where expressions stand.
    var ground: ExpressionScope {
        var ground: ExpressionScope
        switch content {
        case .entities(let place): ground = ExpressionScope(.entity(place))
        case .columns(let columns):
            let names = columns.map { ($0.path.joined(separator: "/"), $0.meaning) }
            ground = ExpressionScope(.outputs(Dictionary(names, uniquingKeysWith: { first, _ in first })))
        }
        for joined in joined { ground.variables[joined.name] = joined.ground }
        for column in computed { ground.computed[column.path.joined(separator: "/")] = column.meaning }
        ground.these = self
        ground.rollups = belonging?.nodes ?? []
        return ground
    }

    /// Everything that is there by name.
    var columns: [Column] {
        switch content {
        case .entities: computed
        case .columns(let columns): columns + computed
        }
    }

    var isRestricted: Bool { limit != nil || skip > 0 }

    /// What makes an order total: the key, or all columns.
    var tieBreak: [RowOrder] {
        switch content {
        case .entities(let place):
            [RowOrder(.field(place.source, place.table.keyField))] + joined.flatMap(\.tieBreak)
        case .columns(let columns): columns.tieBreak + joined.flatMap(\.tieBreak)
        }
    }

    /// These rows with those columns; in a total order where a part of them is taken, otherwise in none. What belongs to
    /// somebody is a part of each owner's.
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
        filter { $0.meaning.type?.hasOrder ?? true }.map { RowOrder($0.meaning.expression) }
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
