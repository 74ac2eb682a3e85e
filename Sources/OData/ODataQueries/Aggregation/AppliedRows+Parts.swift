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

    /// Each owner's by their keys: one entity may belong to several.
    func beside(_ reader: ExpressionReader) -> AppliedRows {
        guard case .entities(let place) = content, let belonging else { return self }
        let (name, count) = (reader.numbering.next(), owner.count)
        let key = RowExpression.field(place.source, place.table.keyField)
        let outer = EntityPlace(source: reader.numbering.next(), table: place.table, type: place.type)
        let isSame = RowExpression.compare(
            .equal, .field(outer.source, place.table.keyField), .output(name, count))
        var result = AppliedRows(
            source: .rows(relation(owner + [key]), as: name),
            joins: [Join(.inner, .records(place.table.entity, as: outer.source), on: isSame)],
            content: .entities(outer))
        result.take(self, from: place, to: outer)
        result.belonging = belonging.moved(to: name)
        return result
    }

    private mutating func take(_ rows: AppliedRows, from place: EntityPlace, to outer: EntityPlace) {
        computed = rows.computed.map { column in
            Column(path: column.path, meaning: column.meaning.moved(from: place.source, to: outer.source))
        }
        order = rows.order.map { order in
            RowOrder(order.expression.moved(from: place.source, to: outer.source), descending: order.isDescending)
        }
        nested = rows.nested.map { $0.moved(from: place.source, to: outer.source) }
    }
}

extension AppliedRows.Belonging {
    /// Where the rows have become those of a nested relation, whose first columns tell the owner.
    func moved(to name: SourceName) -> Self {
        Self(values: values.indices.map { .output(name, $0) }, owners: owners)
    }
}
