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
        let meaning: Meaning
    }

    var source: RelationSource
    var condition: RowExpression?
    var order: [RowOrder] = []
    var skip = 0
    var limit: Int?
    var content: Content
    var computed: [Column] = []

    /// Where expressions stand.
    var ground: Ground {
        var ground: Ground
        switch content {
        case .entities(let place): ground = Ground(.entity(place))
        case .columns(let columns):
            let names = columns.map { ($0.path.joined(separator: "/"), $0.meaning) }
            ground = Ground(.outputs(Dictionary(names, uniquingKeysWith: { first, _ in first })))
        }
        for column in computed { ground.computed[column.path.joined(separator: "/")] = column.meaning }
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

    /// These rows with those columns; without an order where nothing is counted from it.
    func relation(_ columns: [RowExpression], groups: [RowExpression]? = nil) -> Relation {
        Relation(
            source, where: condition, columns: columns, groups: groups, order: isRestricted ? order : [],
            start: skip > 0 ? .offset(skip) : .first, limit: limit)
    }
}
