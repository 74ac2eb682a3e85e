import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// The entities that a navigation property leads to, as rows that belong to those that it comes from.
struct OwnedRows {
    let place: EntityPlace
    var rows: AppliedRows
    /// What tells a row around them as the owner.
    let near: [RowExpression]
    /// Where, in whatever is made of the rows, only some owners' have to be read (``Relation/only(_:of:)``).
    let sources: [SourceName: RowExpression]
    let relation: RecordRelation

    /// Throws where the property leads to what is in no set.
    init(
        _ navigation: NavigationProperty, cast: QualifiedName?, from owner: EntityPlace, _ reader: ExpressionReader,
        _ range: SourceRange
    ) throws(QueryProblem) {
        let linked = try reader.linked(navigation, from: owner, range)
        guard let relation = owner.table.relations[navigation.name] else {
            throw QueryProblem("\(navigation.name) leads to no entity set.", at: range)
        }
        var place = linked.place
        if let cast { place.type = cast }
        let first = reader.numbering.next()
        let (far, nearFields) = Self.pairs(relation, linked, owner.table)
        let owners = nearFields.map { RowExpression.field(first, $0) }
        (self.place, self.relation) = (place, relation)
        near = nearFields.map { .field(owner.source, $0) }
        rows = AppliedRows(
            source: linked.source, joins: linked.joins, condition: cast.map { reader.isOf($0, place) },
            content: .entities(place))
        rows.belonging = AppliedRows.Belonging(
            values: far,
            owners: Relation(.records(owner.table.entity, as: first), columns: owners, isDistinct: true))
        var sources: [SourceName: RowExpression] = [first: owners[0]]
        if case .field(let source, _) = far[0] { sources[source] = far[0] }
        self.sources = sources
    }

    /// Only those of the owners for which the condition is true: nothing is made of what nobody asked for.
    mutating func keep(_ condition: RowExpression?, of owner: EntityPlace, _ reader: ExpressionReader) {
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
            return (pairs.map { .field(linked.place.source, $0.far) }, pairs.map(\.near))
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
