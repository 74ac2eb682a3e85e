import AdapterKit
import GRDB

/// Makes a collection's tables and indexes.
struct TableMaker {
    let layout: CollectionLayout
    let database: Database

    /// The table with the key's column alone; the other fields are added as a later version's would be, so that there is
    /// one way for both.
    ///
    /// An integer key is the table's row number, kept from being given twice by AUTOINCREMENT.
    func createTable() throws {
        let key = layout.key.name
        let columns =
            layout.hasIntegerKey
            ? "\(key) INTEGER PRIMARY KEY AUTOINCREMENT"
            : "\(layout.rowColumn) INTEGER PRIMARY KEY, \(key) \(layout.key.kind.sqlType) NOT NULL UNIQUE"
        try database.run(
            "CREATE TABLE \(layout.table) (\(columns), \(CollectionLayout.revisionColumn) INTEGER NOT NULL) STRICT")
        try SchemaRegistry(database: database).set(layout.key, of: layout.number)
    }

    func add(_ column: Column) throws {
        for definition in column.definitions {
            try database.run("ALTER TABLE \(layout.table) ADD COLUMN \(definition)")
        }
        if case .list(let element) = column.kind { try createListTable(column, element) }
        try SchemaRegistry(database: database).set(column, of: layout.number)
    }

    func drop(_ names: [String], list field: FieldName) throws {
        try database.run("DROP TABLE IF EXISTS \(layout.names.list(field).quotedIdentifier)")
        for name in names { try database.run("ALTER TABLE \(layout.table) DROP COLUMN \(name)") }
    }

    /// The key comes last in every order, so it does in every index that is not unique: a page is then one range of it.
    /// An integer key is the row's number, which SQLite puts there by itself.
    func createIndex(_ index: Index) throws {
        var names = try index.fields.map { try layout.column($0).comparisonName }
        if !index.isUnique, !layout.hasIntegerKey, !names.contains(layout.key.name) { names.append(layout.key.name) }
        let columns = names.joined(separator: ", ")
        let kind = index.isUnique ? "UNIQUE INDEX" : "INDEX"
        let name = layout.names.index(index).quotedIdentifier
        do {
            try database.run("CREATE \(kind) \(name) ON \(layout.table) (\(columns))")
        } catch let failure as SQLiteFailure where failure.isDuplicate {
            throw PorticoError.refusing(
                layout.id, index.fields.map(\.text).joined(separator: ","),
                "a unique index is declared, but records have equal values")
        }
    }

    /// Accents and case are folded; prefixes of two and three letters have an index of their own.
    func createSearch() throws {
        let columns = layout.entity.searchFields.map(\.text.quotedIdentifier).joined(separator: ", ")
        let table = layout.names.search.quotedIdentifier
        try database.run(
            """
            CREATE VIRTUAL TABLE \(table) USING fts5(\(columns), content=\(layout.table), \
            content_rowid=\(layout.rowColumn), tokenize='unicode61 remove_diacritics 2', prefix='2 3')
            """)
        try database.run("INSERT INTO \(table) (\(table)) VALUES ('rebuild')")
    }

    func dropSearch() throws {
        try database.run("DROP TABLE IF EXISTS \(layout.names.search.quotedIdentifier)")
    }

    private func createListTable(_ column: Column, _ element: ScalarKind) throws {
        let table = layout.names.list(column.field.name).quotedIdentifier
        try database.run(
            """
            CREATE TABLE \(table) (
                value \(element.sqlType) NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (value, row)
            ) STRICT, WITHOUT ROWID
            """)
    }
}
