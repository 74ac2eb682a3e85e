import AdapterKit
import GRDB
import RecordStorage

/// What is installed, as the database itself remembers it.
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

    func hide(_ field: String, of number: Int64) throws {
        try database.run(
            "UPDATE portico_field SET hidden = 1 WHERE collection = ? AND name = ?", [.integer(number), .text(field)])
    }

    func setSearch(_ search: String, of number: Int64) throws {
        try database.run(
            "UPDATE portico_collection SET search = ? WHERE number = ?", [.text(search), .integer(number)])
    }
}
