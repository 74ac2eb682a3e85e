import AdapterKit
import ODataModel
import ODataRecords

/// That what entities lead to is there: asked when a transaction's changes are all made, so that they may come in any
/// order.
struct ReferenceRules {
    let tables: ServiceTables
    let snapshot: any RecordSnapshot

    /// Throws `request.invalid` with the navigation property as the target.
    func verify(_ record: Record, of table: RecordTable) throws {
        let type = tables.model.structured(table.type(of: record)) ?? table.type
        for navigation in type.navigation where !navigation.isCollection {
            guard let relation = table.relations[navigation.name], let far = tables[relation.target] else { continue }
            switch relation {
            case .fields(_, let pairs, _) where !navigation.constraints.isEmpty:
                try verify(navigation, pairs.map { (record[$0.near], $0.far) }, far)
            case .links(_, let through, let near, _, _) where !navigation.isNullable:
                let isLinked = Filter.compare(near, .equal, record[table.keyField])
                if try snapshot.count(isLinked, in: through) == 0 { throw Self.missing(navigation) }
            default: continue
            }
        }
    }

    private func verify(
        _ navigation: NavigationProperty, _ values: [(value: WireValue, field: FieldName)], _ far: RecordTable
    ) throws {
        guard values.allSatisfy({ !$0.value.isNull }) else {
            if navigation.isNullable { return }
            throw Self.missing(navigation)
        }
        guard try isThere(values, far) else {
            throw PorticoError(
                .requestInvalid, "\(navigation.name) would lead to an entity that is not there.",
                target: navigation.name)
        }
    }

    private func isThere(_ values: [(value: WireValue, field: FieldName)], _ far: RecordTable) throws -> Bool {
        if values.count == 1, values[0].field == far.keyField {
            guard let id = RecordID(key: values[0].value) else { return false }
            return try snapshot.record(id, in: far.entity) != nil
        }
        let filter = Filter.all(values.map { .compare($0.field, .equal, $0.value) })
        return try !snapshot.query(Query(filter, limit: 1), in: far.entity).records.isEmpty
    }

    static func missing(_ navigation: NavigationProperty) -> PorticoError {
        PorticoError(
            .requestInvalid, "There is no entity without its \(navigation.name).", target: navigation.name)
    }
}
