import AdapterKit
import ODataRecords

// Entities of which a part was taken stay entities.
extension AppliedRows {
    /// Those whose keys are left, as rows of a source of their own.
    func among(_ keys: Relation, _ reader: ExpressionReader) -> AppliedRows {
        guard case .entities(let place) = content else { return self }
        let outer = EntityPlace(source: reader.numbering.next(), table: place.table, type: place.type)
        var result = AppliedRows(
            source: .records(place.table.entity, as: outer.source),
            condition: .among(.field(outer.source, place.table.keyField), keys), content: .entities(outer))
        result.take(self, from: place, to: outer)
        return result
    }

    /// The same rows as those of a nested relation, which has further columns; and what those are called from now on.
    func carrying(_ more: [RowExpression], _ applier: Applier) -> (AppliedRows, [RowExpression]) {
        guard case .entities(let place) = content, joined.isEmpty else { return applier.nested(self, carrying: more) }
        let name = applier.reader.numbering.next()
        let outer = EntityPlace(source: applier.reader.numbering.next(), table: place.table, type: place.type)
        let values = owner + [.field(place.source, place.table.keyField)] + order.map(\.expression) + more
        let outputs = values.indices.map { RowExpression.output(name, $0) }
        let isSame = RowExpression.compare(
            .equal, .field(outer.source, place.table.keyField), outputs[owner.count])
        var result = AppliedRows(
            source: .rows(relation(values), as: name),
            joins: [Join(.inner, .records(place.table.entity, as: outer.source), on: isSame)],
            content: .entities(outer))
        result.take(self, from: place, to: outer)
        result.order = zip(order, outputs.dropFirst(owner.count + 1)).map {
            RowOrder($1, descending: $0.isDescending)
        }
        result.belonging = belonging?.moved(to: name)
        return (result, Array(outputs.suffix(more.count)))
    }

    private mutating func take(_ rows: AppliedRows, from place: EntityPlace, to outer: EntityPlace) {
        computed = rows.computed.map { $0.moved(from: place.source, to: outer.source) }
        order = rows.order.map { order in
            RowOrder(order.expression.moved(from: place.source, to: outer.source), descending: order.isDescending)
        }
        nested = rows.nested.map { $0.moved(from: place.source, to: outer.source) }
    }
}

extension AppliedRows.Belonging {
    /// Where the rows have become those of a nested relation, whose first columns tell the owner.
    func moved(to name: SourceName) -> Self {
        told(by: values.indices.map { .output(name, $0) })
    }

    /// By other values of the same owners.
    func told(by values: [RowExpression]) -> Self {
        let nodes = nodes.map { RollupNode($0.hierarchy, owner: $0.owner, key: values[$0.owner]) }
        return Self(values: values, owners: owners, nodes: nodes)
    }
}
