import AdapterKit
import GRDB

/// Brings one collection's tables to what its declaration says.
struct CollectionMigration {
    let layout: CollectionLayout
    let database: Database

    func run(_ touches: inout RecordTouches) throws {
        guard let installed = try SchemaRegistry(database: database).collection(layout.id) else { return }
        try checkKey(installed)
        try dropOldIndexes()
        if installed.search != search { try tables.dropSearch() }
        let fields = FieldMigration(layout: layout, database: database, installed: installed)
        for column in layout.columns { try fields.bring(column, &touches) }
        try fields.hideUndeclared()
        try createNewIndexes()
        try bringSearch(installed)
    }

    private var tables: TableMaker { TableMaker(layout: layout, database: database) }

    private var search: String { layout.entity.searchFields.map(\.text).joined(separator: ",") }

    private func checkKey(_ installed: SchemaRegistry.InstalledCollection) throws {
        let kind = installed.fields[layout.key.field.name.text]?.kind
        guard installed.key == layout.key.field.name.text, kind == layout.key.kind.text else {
            throw PorticoError.refusing(layout.id, installed.key, "the key cannot become another one")
        }
    }

    private func bringSearch(_ installed: SchemaRegistry.InstalledCollection) throws {
        guard installed.search != search else { return }
        if layout.hasSearch { try tables.createSearch() }
        try SchemaRegistry(database: database).setSearch(search, of: layout.number)
    }

    /// Names of indexes tell everything about them, so equal names are equal indexes.
    private func dropOldIndexes() throws {
        let declared = Set(layout.entity.indexes.map { layout.names.index($0) })
        for name in try indexNames() where !declared.contains(name) {
            try database.run("DROP INDEX \(name.quotedIdentifier)")
        }
    }

    private func createNewIndexes() throws {
        var present = Set(try indexNames())
        for index in layout.entity.indexes where present.insert(layout.names.index(index)).inserted {
            try tables.createIndex(index)
        }
    }

    /// Those that SQLite makes by itself have no SQL.
    private func indexNames() throws -> [String] {
        try database.rows(
            SQLFragment(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
                [.text(layout.names.main)])
        ) { $0.text(0) }
    }
}
