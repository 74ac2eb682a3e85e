import AdapterKit
import GRDB

/// Brings one field's columns to what its declaration says.
struct FieldMigration {
    let layout: CollectionLayout
    let database: Database
    let installed: SchemaRegistry.InstalledCollection

    func bring(_ column: Column, _ touches: inout RecordTouches) throws {
        guard let known = installed.fields[column.field.name.text] else {
            return try add(column, &touches)
        }
        if known.kind != column.kind.text {
            try checkIsEmpty(column, was: known.kind)
            try tables.drop(Self.names(of: column, kind: known.kind), list: column.field.name)
            try add(column, &touches)
        } else if known.isHidden {
            try show(column, &touches)
        }
        if column.field.isRequired, !column.field.isNullable { try checkIsFull(column) }
    }

    /// A field that is no longer declared keeps its column, so that an older version of the adapter finds its data
    /// again; nothing reads or writes it.
    func hideUndeclared() throws {
        for (name, field) in installed.fields where !field.isHidden {
            if layout.entity.field(FieldName(unchecked: name)) == nil {
                try SchemaRegistry(database: database).hide(name, of: layout.number)
            }
        }
    }

    private var tables: TableMaker { TableMaker(layout: layout, database: database) }

    /// Records that are there get the default, which is a change of each.
    private func add(_ column: Column, _ touches: inout RecordTouches) throws {
        try tables.add(column)
        if let value = column.field.defaultValue, !value.isNull, try hasRows() {
            try fill(column, with: column.field.shape.canonical(value), &touches)
        }
        if column.field.isRequired, !column.field.isNullable { try checkIsFull(column) }
    }

    private func fill(_ column: Column, with value: WireValue, _ touches: inout RecordTouches) throws {
        let stored = try column.stored(value)
        let places = stored.map { _ in "?" }.joined(separator: ", ")
        try touches.touch(layout, where: "1")
        try database.run("UPDATE \(layout.table) SET (\(column.names.joined(separator: ", "))) = (\(places))", stored)
        guard case .list(let element) = column.kind else { return }
        let table = layout.names.list(column.field.name).quotedIdentifier
        for item in value.arrayValue ?? [] {
            guard let element = element.comparable(item) else { continue }
            try database.run(
                "INSERT OR IGNORE INTO \(table) (value, row) SELECT ?, \(layout.rowColumn) FROM \(layout.table)",
                [element])
        }
    }

    /// Values that were hidden are seen again.
    private func show(_ column: Column, _ touches: inout RecordTouches) throws {
        try touches.touch(layout, where: "\(column.name) IS NOT NULL")
        try SchemaRegistry(database: database).set(column, of: layout.number)
        try CarriedValueMigration(layout: layout, database: database).forget()
    }

    private func checkIsEmpty(_ column: Column, was kind: String) throws {
        guard try hasRows(where: "\(column.name) IS NOT NULL") else { return }
        throw PorticoError.refusing(
            layout.id, column.field.name.text,
            "records hold values of the kind \(kind), the declaration says \(column.kind.text)")
    }

    private func checkIsFull(_ column: Column) throws {
        guard try hasRows(where: "\(column.name) IS NULL") else { return }
        throw PorticoError.refusing(
            layout.id, column.field.name.text, "it is required, but records have no value and there is no default")
    }

    private func hasRows(where condition: String = "1") throws -> Bool {
        try database.hasRow(SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(condition) LIMIT 1"))
    }

    private static func names(of column: Column, kind: String) -> [String] {
        let own = column.field.name.text.quotedIdentifier
        return kind == ScalarKind.decimal.rawValue ? [own, "\(column.field.name.text)~order".quotedIdentifier] : [own]
    }
}
