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
        return shape.type.flatMap { tables.model.structured($0) } ?? shape.table?.type
    }

    /// `Students(1)`; nil where the row does not hold the key.
    func path(_ row: ResultRow, _ shape: ResultShape) -> String? {
        guard let table = shape.table else { return nil }
        var fields = WireDictionary()
        for name in table.keyNames {
            guard let position = shape.columns.firstIndex(where: { $0.path == [name] }),
                let column = table.columns[name]
            else { return table.isSingleton ? table.source : nil }
            fields[column.field.text] = row.values[position]
        }
        return table.source + table.keyPredicate(fields, model: tables.model)
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
            if text.hasPrefix("W/") { text.removeFirst(2) }
            guard text.hasPrefix("\""), text.hasSuffix("\""), text.count > 2 else { return nil }
            return Int64(text.dropFirst().dropLast()).map(Revision.init)
        }
    }
}
