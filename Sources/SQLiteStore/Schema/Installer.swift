import AdapterKit
import GRDB
import RecordStorage

/// Makes the tables fit the declarations, all of them or none: within one transaction of the writer.
struct Installer {
    let database: Database
    /// The last operation id; migrations that change records go on from it.
    let position: Int64
    /// When the log says that they changed.
    let time: WireDate

    struct Result {
        let layouts: [CollectionLayout]
        let position: Int64
        /// How many records had values that some wire format cannot carry.
        let replaced: [CollectionID: Int]
        /// The last operation id of each adapter whose records were migrated.
        let touched: [AdapterName: Int64]
    }

    /// Throws ``PorticoError`` that names collection, field and reason where a declaration does not fit the data.
    func install(_ collections: [CollectionDeclaration]) throws -> Result {
        try database.run("BEGIN IMMEDIATE")
        do {
            let result = try installAll(collections)
            try database.run("COMMIT")
            return result
        } catch {
            try? database.run("ROLLBACK")
            throw PorticoError.wrapping(error)
        }
    }

    private func installAll(_ collections: [CollectionDeclaration]) throws -> Result {
        var layouts: [CollectionLayout] = []
        var replaced: [CollectionID: Int] = [:]
        var touches = RecordTouches(database: database, position: position, time: time)
        for declaration in collections {
            let layout = try self.layout(declaration, collections.scopeFields(of: declaration.id))
            try CollectionMigration(layout: layout, database: database).run(&touches)
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
        try TableMaker(layout: layout, database: database).createTable()
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
