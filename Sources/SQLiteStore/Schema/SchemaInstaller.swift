import AdapterKit
import GRDB
import RecordStorage

/// Makes the tables fit the declarations, all of them or none: within one transaction of the writer.
struct SchemaInstaller {
    let database: Database
    /// The last operation id; migrations that change records go on from it.
    let position: Int64
    /// When the log says that they changed.
    let time: WireDate
    /// Whether snapshots may be gathering in tables beside the collections', which then stay.
    var isServing = false

    struct Result {
        let layouts: [CollectionLayout]
        let position: Int64
        /// The number of records that had values which some wire format cannot carry.
        let replaced: [CollectionID: Int]
        /// The last operation id of each adapter whose records were migrated.
        let touched: [AdapterName: Int64]
    }

    /// `changed`: those of the collections whose tables are looked at; the others have their layouts already. Throws
    /// ``PorticoError`` that names collection, field and reason where a declaration does not fit the data.
    func install(
        _ collections: [CollectionDeclaration], where changed: (CollectionDeclaration) -> Bool = { _ in true }
    ) throws -> Result {
        do {
            return try database.atomically { try installAll(collections, where: changed) }
        } catch {
            throw PorticoError.wrapping(error)
        }
    }

    private func installAll(
        _ collections: [CollectionDeclaration], where changed: (CollectionDeclaration) -> Bool
    ) throws -> Result {
        var layouts: [CollectionLayout] = []
        var replaced: [CollectionID: Int] = [:]
        var touches = RevisionUpdate(database: database, position: position, time: time)
        for declaration in collections where changed(declaration) {
            let layout = try self.layout(declaration, collections.scopeFields(of: declaration.id))
            try CollectionMigration(layout: layout, database: database, isServing: isServing).run(&touches)
            let count = try CarriedValueMigration(layout: layout, database: database).run(&touches)
            if count > 0 { replaced[declaration.id] = count }
            layouts.append(layout)
        }
        try touches.finish()
        return Result(
            layouts: layouts, position: touches.position, replaced: replaced, touched: touches.touched)
    }

    private func layout(
        _ declaration: CollectionDeclaration, _ scopeFields: [FieldName]
    ) throws -> CollectionLayout {
        let registry = SchemaRegistry(database: database)
        if let installed = try registry.collection(declaration.id) {
            return try CollectionLayout(declaration, number: installed.number, scopeFields: scopeFields)
        }
        if let other = try registry.namesake(of: declaration.id) {
            throw PorticoError.refusing(declaration.id, nil, "its name differs from \(other)'s in case only")
        }
        let number = try registry.add(declaration.entity, of: declaration.id)
        let layout = try CollectionLayout(declaration, number: number, scopeFields: scopeFields)
        try TableBuilder(layout: layout, database: database).createTable()
        return layout
    }
}

extension PorticoError {
    /// A migration that would lose data or cannot be made.
    static func refusing(_ id: CollectionID, _ field: String?, _ reason: String) -> PorticoError {
        let subject = field.map { "\(id), field `\($0)`" } ?? "\(id)"
        return PorticoError(.storeUnavailable, "The store cannot be migrated: \(subject): \(reason).", target: field)
    }
}

/// The installed schema, as the database itself remembers it.
struct SchemaRegistry {
    let database: Database

    struct InstalledField: Equatable {
        let kind: String
        /// No longer declared; its column is kept.
        let isHidden: Bool
    }

    struct InstalledCollection {
        let number: Int64
        let key: String
        let search: String
        let fields: [String: InstalledField]
    }

    func collection(_ id: CollectionID) throws -> InstalledCollection? {
        let found = try database.row(
            "SELECT number, key, search FROM portico_collection WHERE adapter = ? AND entity = ?",
            [.text(id.adapter.text), .text(id.entity.text)]
        ) { ($0.integer(0), $0.text(1), $0.text(2)) }
        guard let (number, key, search) = found else { return nil }
        let fields = try database.rows(
            SQLFragment("SELECT name, kind, hidden FROM portico_field WHERE collection = ?", [.integer(number)])
        ) { ($0.text(0), InstalledField(kind: $0.text(1), isHidden: $0.integer(2) != 0)) }
        return InstalledCollection(
            number: number, key: key, search: search, fields: Dictionary(fields, uniquingKeysWith: { $1 }))
    }

    /// The new collection's number.
    func add(_ entity: Entity, of id: CollectionID) throws -> Int64 {
        try database.run(
            "INSERT INTO portico_collection (adapter, entity, key, search) VALUES (?, ?, ?, '')",
            [.text(id.adapter.text), .text(id.entity.text), .text(entity.key.field.text)])
        return database.lastInsertedRowID
    }

    /// An entity whose name differs in case only: to SQLite its table would be the same.
    func namesake(of id: CollectionID) throws -> String? {
        try database.row(
            "SELECT entity FROM portico_collection WHERE adapter = ? AND lower(entity) = lower(?) AND entity <> ?",
            [.text(id.adapter.text), .text(id.entity.text), .text(id.entity.text)]
        ) { $0.text(0) }
    }

    func set(_ column: Column, of number: Int64) throws {
        try database.run(
            """
            INSERT INTO portico_field (collection, name, kind, hidden) VALUES (?, ?, ?, 0)
            ON CONFLICT (collection, name) DO UPDATE SET kind = excluded.kind, hidden = 0
            """, [.integer(number), .text(column.field.name.text), .text(column.kind.text)])
    }

    /// Another name for how a field is stored; a hidden one stays hidden.
    func rename(_ column: Column, to kind: String, of number: Int64) throws {
        try database.run(
            "UPDATE portico_field SET kind = ? WHERE collection = ? AND name = ?",
            [.text(kind), .integer(number), .text(column.field.name.text)])
    }

    func hide(_ field: String, of number: Int64) throws {
        try database.run(
            "UPDATE portico_field SET hidden = 1 WHERE collection = ? AND name = ?", [.integer(number), .text(field)])
    }

    /// Forgets hidden columns of tables that were exchanged, which have the declared columns alone.
    func forgetHidden(of layout: CollectionLayout) throws {
        let hidden = try database.rows(
            SQLFragment(
                "SELECT name FROM portico_field WHERE collection = ? AND hidden = 1", [.integer(layout.number)])
        ) { FieldName(unchecked: $0.text(0)) }
        for field in hidden {
            try database.run("DROP TABLE IF EXISTS \(layout.names.list(field).quotedIdentifier)")
        }
        try database.run(
            "DELETE FROM portico_field WHERE collection = ? AND hidden = 1", [.integer(layout.number)])
    }

    func setSearch(_ search: String, of number: Int64) throws {
        try database.run(
            "UPDATE portico_collection SET search = ? WHERE number = ?", [.text(search), .integer(number)])
    }
}

/// Makes a collection's tables and indexes.
struct TableBuilder {
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
    ///
    /// `content`: the table, quoted, whose texts are indexed; nil: the layout's own.
    func createSearch(of content: String? = nil) throws {
        let columns = layout.entity.searchFields.map(\.text.quotedIdentifier).joined(separator: ", ")
        let table = layout.names.search.quotedIdentifier
        try database.run(
            """
            CREATE VIRTUAL TABLE \(table) USING fts5(\(columns), content=\(content ?? layout.table), \
            content_rowid=\(layout.rowColumn), tokenize='unicode61 remove_diacritics 2', prefix='2 3')
            """)
        if content == nil { try database.run("INSERT INTO \(table) (\(table)) VALUES ('rebuild')") }
    }

    func dropSearch() throws {
        try database.run("DROP TABLE IF EXISTS \(layout.names.search.quotedIdentifier)")
    }

    func createListTable(_ column: Column, _ element: ScalarKind) throws {
        let table = layout.names.list(column.field.name).quotedIdentifier
        try database.run(
            """
            CREATE TABLE \(table) (
                value \(element.sqlType) NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (value, row)
            ) STRICT, WITHOUT ROWID
            """)
    }
}
