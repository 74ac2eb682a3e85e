import AdapterKit
import ODataAddresses
import ODataModel
import ODataQueries
import ODataRecords

/// Which entity a row is.
struct RowIdentity {
    let tables: ServiceTables

    /// The row's own type; nil for what is no entity.
    func type(_ row: ResultRow, _ shape: ResultShape) -> StructuredType? {
        if let column = shape.typeColumn, let name = row.values[column].stringValue.flatMap({ QualifiedName($0) }) {
            return tables.model.structured(name)
        }
        return commonType(shape)
    }

    /// That of rows that do not say theirs.
    func commonType(_ shape: ResultShape) -> StructuredType? {
        guard let type = shape.type, type != shape.table?.type.name else { return shape.table?.type }
        return tables.model.structured(type) ?? shape.table?.type
    }

    /// `Students(1)`; nil where the row does not hold the key.
    func path(_ row: ResultRow, _ shape: ResultShape) -> String? {
        guard let table = shape.table else { return nil }
        guard let key = shape.outline.key else { return table.isSingleton ? table.source : nil }
        let literals = LiteralText(model: tables.model)
        return table.source + table.keyPredicate(key.map { literals.text(row.values[$0.position], as: $0.column.type) })
    }

    func tag(_ row: ResultRow, _ shape: ResultShape) -> String? {
        shape.revisionColumn.flatMap { row.values[$0].int64Value }.map { EntityTag.text(Revision($0)) }
    }
}

/// Weak, because an entity's JSON differs with what is selected.
enum EntityTag {
    static func text(_ revision: Revision) -> String { "W/\"\(revision)\"" }

    /// The revisions that a list of tags names; nil for `*`. What is no tag of ours matches nothing.
    static func revisions(_ field: String) -> [Revision]? {
        if field.filter({ $0 != " " }) == "*" { return nil }
        return field.split(separator: ",").compactMap { piece in
            var text = piece.filter { $0 != " " }
            // Cannot trap: it begins with two characters.
            if text.hasPrefix("W/") { text.removeFirst(2) }
            guard text.hasPrefix("\""), text.hasSuffix("\""), text.count > 2 else { return nil }
            return Int64(text.dropFirst().dropLast()).map(Revision.init)
        }
    }
}
