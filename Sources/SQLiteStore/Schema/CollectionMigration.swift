import AdapterKit
import GRDB
import RecordStorage

/// Brings one collection's tables to what its declaration says.
struct CollectionMigration {
    let layout: CollectionLayout
    let database: Database
    let isServing: Bool

    func run(_ touches: inout RevisionUpdate) throws {
        let registry = SchemaRegistry(database: database)
        guard var installed = try registry.collection(layout.id) else { return }
        try checkKey(installed)
        if !isServing { try LeftoverTable.dropAll(of: layout, on: database) }
        try dropOldIndexes()
        let former = layout.columns.filter { column in
            column.kind.formerText.map { installed.fields[column.field.name.text]?.kind == $0 } ?? false
        }
        if !former.isEmpty {
            try dropIndexes(of: former)
            let instants = InstantMigration(layout: layout, database: database)
            for column in former { try instants.bring(column) }
            installed = try registry.collection(layout.id) ?? installed
        }
        if installed.search != search { try tables.dropSearch() }
        let fields = FieldMigration(layout: layout, database: database, installed: installed)
        for column in layout.columns { try fields.bring(column, &touches) }
        try fields.hideUndeclared()
        try createNewIndexes()
        try bringSearch(installed)
    }

    private var tables: TableBuilder { TableBuilder(layout: layout, database: database) }

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
        for name in try indexNames() where !declared.contains(layout.names.plain(name)) {
            try database.run("DROP INDEX \(name.quotedIdentifier)")
        }
    }

    /// Drops the indexes over one of the columns. ``createNewIndexes()`` makes them again.
    private func dropIndexes(of columns: [Column]) throws {
        let fields = Set(columns.map(\.field.name))
        let names = Set(layout.entity.indexes.filter { !fields.isDisjoint(with: $0.fields) }.map(layout.names.index))
        for name in try indexNames() where names.contains(layout.names.plain(name)) {
            try database.run("DROP INDEX \(name.quotedIdentifier)")
        }
    }

    private func createNewIndexes() throws {
        var present = Set(try indexNames().map(layout.names.plain))
        for index in layout.entity.indexes where present.insert(layout.names.index(index)).inserted {
            try tables.createIndex(index)
        }
    }

    /// The names of indexes, but for those that SQLite makes by itself: they have no SQL.
    private func indexNames() throws -> [String] {
        try database.rows(
            SQLFragment(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
                [.text(layout.names.main)])
        ) { $0.text(0) }
    }
}

/// Brings columns and lists of instants that an earlier version stored as doubles, seconds since 2001, to ``InstantKey``.
/// Every double becomes the instant that it was shown as: its shortest digits. So no record changes, and none gets a
/// revision.
struct InstantMigration {
    let layout: CollectionLayout
    let database: Database

    func bring(_ column: Column) throws {
        if case .list = column.kind { try bringList(column) } else { try bringScalar(column) }
        try SchemaRegistry(database: database).rename(column, to: column.kind.text, of: layout.number)
    }

    private func bringScalar(_ column: Column) throws {
        let (old, new) = (column.name, "\(column.field.name.text)~instant".quotedIdentifier)
        try database.run("ALTER TABLE \(layout.table) ADD COLUMN \(new) \(column.kind.sqlType)")
        try database.run("UPDATE \(layout.table) SET \(new) = portico_instant(\(old)) WHERE \(old) IS NOT NULL")
        try database.run("ALTER TABLE \(layout.table) DROP COLUMN \(old)")
        try database.run("ALTER TABLE \(layout.table) RENAME COLUMN \(new) TO \(old)")
    }

    private func bringList(_ column: Column) throws {
        let name = layout.names.list(column.field.name)
        let former = "\(name)~double".quotedIdentifier
        try database.run("ALTER TABLE \(name.quotedIdentifier) RENAME TO \(former)")
        try TableBuilder(layout: layout, database: database).createListTable(column, .date)
        try database.run(
            "INSERT OR IGNORE INTO \(name.quotedIdentifier) (value, row) SELECT portico_instant(value), row FROM \(former)"
        )
        try database.run("DROP TABLE \(former)")
    }
}

/// Brings one field's columns to what its declaration says.
struct FieldMigration {
    let layout: CollectionLayout
    let database: Database
    let installed: SchemaRegistry.InstalledCollection

    func bring(_ column: Column, _ touches: inout RevisionUpdate) throws {
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

    private var tables: TableBuilder { TableBuilder(layout: layout, database: database) }

    /// Records that are there get the default, which is a change of each.
    private func add(_ column: Column, _ touches: inout RevisionUpdate) throws {
        try tables.add(column)
        if let value = column.field.defaultValue, !value.isNull, try hasRows() {
            try fill(column, with: column.field.shape.canonical(value), &touches)
        }
        if column.field.isRequired, !column.field.isNullable { try checkIsFull(column) }
    }

    /// Gives a value to the records that have none.
    private func fill(_ column: Column, with value: WireValue, _ touches: inout RevisionUpdate) throws {
        let stored = try column.stored(value)
        let places = stored.map { _ in "?" }.joined(separator: ", ")
        let empty = "\(column.name) IS NULL"
        try touches.touch(layout, where: empty)
        if case .list(let element) = column.kind {
            let table = layout.names.list(column.field.name).quotedIdentifier
            for item in value.arrayValue ?? [] {
                guard let element = element.comparable(item) else { continue }
                try database.run(
                    """
                    INSERT OR IGNORE INTO \(table) (value, row)
                    SELECT ?, \(layout.rowColumn) FROM \(layout.table) WHERE \(empty)
                    """, [element])
            }
        }
        try database.run(
            "UPDATE \(layout.table) SET (\(column.names.joined(separator: ", "))) = (\(places)) WHERE \(empty)", stored)
    }

    /// Values that were hidden are seen again. Records that came meanwhile have none; unless the field may be null, they
    /// get the default.
    private func show(_ column: Column, _ touches: inout RevisionUpdate) throws {
        try touches.touch(layout, where: "\(column.name) IS NOT NULL")
        try dropItemsOfDeleted(column)
        if !column.field.isNullable, let value = column.field.defaultValue, !value.isNull {
            try fill(column, with: column.field.shape.canonical(value), &touches)
        }
        try SchemaRegistry(database: database).set(column, of: layout.number)
        try CarriedValueMigration(layout: layout, database: database).forget()
    }

    /// Records that were deleted while a list was hidden have left its items, and others may have their row numbers.
    private func dropItemsOfDeleted(_ column: Column) throws {
        guard case .list = column.kind else { return }
        try database.run(
            """
            DELETE FROM \(layout.names.list(column.field.name).quotedIdentifier) WHERE row NOT IN (
                SELECT \(layout.rowColumn) FROM \(layout.table) WHERE \(column.name) IS NOT NULL)
            """)
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

/// Brings records that were stored before values which some wire format cannot carry were refused to the nearest values
/// that every format carries (``WireValue/replacedForEveryFormat``). Each is a change like any other: it has a revision and
/// a log entry, so that replicas get it.
///
/// Runs once for each collection, which `portico_meta` remembers, and again where a field is seen that was hidden.
struct CarriedValueMigration {
    let layout: CollectionLayout
    let database: Database

    private static let page = 500

    /// Changes records, and returns their number.
    func run(_ touches: inout RevisionUpdate) throws -> Int {
        guard try !isDone() else { return 0 }
        var (count, row) = (0, Int64.min)
        while true {
            let found = try database.rows(
                SQLFragment(
                    "\(layout.selection) WHERE \(layout.rowColumn) > ? ORDER BY \(layout.rowColumn) LIMIT \(Self.page)",
                    [.integer(row)]), layout.storedRow)
            for stored in found where try bring(stored, &touches) { count += 1 }
            guard found.count == Self.page, let last = found.last else { break }
            row = last.row
        }
        try note()
        return count
    }

    /// To be called for a collection without records, and after ``run(_:)``.
    func note() throws {
        try database.run("INSERT OR REPLACE INTO portico_meta VALUES (?, 'done')", [.text(name)])
    }

    func forget() throws {
        try database.run("DELETE FROM portico_meta WHERE name = ?", [.text(name)])
    }

    private var name: String { "carried values of \(layout.number)" }

    private func isDone() throws -> Bool {
        try database.hasRow(SQLFragment("SELECT 1 FROM portico_meta WHERE name = ?", [.text(name)]))
    }

    private func bring(_ found: StoredRow, _ touches: inout RevisionUpdate) throws -> Bool {
        guard found.record.fields.contains(where: { $0.value != replacement(of: $0) }) else { return false }
        do {
            try change(found, suffix: "", &touches)
        } catch let error as PorticoError where error.code == .recordExists {
            // Two values that must differ have become one.
            try change(found, suffix: "-\(found.row)", &touches)
        }
        return true
    }

    private func change(_ found: StoredRow, suffix: String, _ touches: inout RevisionUpdate) throws {
        let before = found.record
        var fields = before.fields
        for entry in before.fields {
            var value = replacement(of: entry)
            if let text = value.stringValue, value != entry.value { value = .string(text + suffix) }
            fields[entry.key] = value
        }
        let id = RecordID(unchecked: fields[layout.key.field.name.text]?.stringValue ?? before.id.text)
        guard !layout.hasIntegerKey, id != before.id else {
            let after = Record(id: before.id, revision: touches.next(in: layout), fields: fields)
            try StoredRowWriter(layout: layout, database: database).update(found, to: after)
            return try touches.log(before, after, in: layout)
        }
        if let key = layout.keyCondition(id),
            try database.hasRow(
                SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(key.sql)", key.values))
        {
            throw PorticoError(.recordExists, "Another record has the id.")
        }
        try StoredRowWriter(layout: layout, database: database).delete(found)
        try touches.log(before, nil, in: layout)
        let after = Record(id: id, revision: touches.next(in: layout), fields: fields)
        _ = try StoredRowWriter(layout: layout, database: database).insert(after)
        try touches.log(nil, after, in: layout)
    }

    private func replacement(of entry: WireDictionary.Entry) -> WireValue { entry.value.replacedForEveryFormat }
}

/// Records that a migration changes get new revisions and log entries, like any other change, so that replicas learn
/// of it.
struct RevisionUpdate {
    let database: Database
    private(set) var position: Int64
    let time: WireDate
    private(set) var touched: [AdapterName: Int64] = [:]

    init(database: Database, position: Int64, time: WireDate) {
        self.database = database
        self.position = position
        self.time = time
    }

    mutating func touch(_ layout: CollectionLayout, where condition: String) throws {
        let key = "CAST(\(layout.key.name) AS TEXT)"
        let ranked = "row_number() OVER (ORDER BY \(layout.rowColumn))"
        try database.run(
            """
            INSERT INTO portico_log (position, collection, record, kind, before, time)
            SELECT ? + \(ranked), ?, \(key), 0, \(CollectionLayout.revisionColumn), ?
            FROM \(layout.table) WHERE \(condition)
            """, [.integer(position), .integer(layout.number), .real(time.secondsSinceReferenceDate)])
        let count = Int64(database.changesCount)
        if count == 0 { return }
        try database.run(
            """
            UPDATE \(layout.table) SET \(CollectionLayout.revisionColumn) = l.position FROM portico_log l
            WHERE l.position > ? AND l.record = \(key)
            """, [.integer(position)])
        position += count
        touched[layout.id.adapter] = position
    }

    /// The revision that the record has which ``log(_:_:in:)`` is called for next.
    func next(in layout: CollectionLayout) -> Revision { Revision(position + 1) }

    /// One record was changed, created or, with nil for what it is afterwards, removed.
    mutating func log(_ before: Record?, _ after: Record?, in layout: CollectionLayout) throws {
        guard let id = after?.id ?? before?.id else { return }
        position += 1
        touched[layout.id.adapter] = position
        let effect = RecordStepWriter.Effect(layout: layout, id: id, before: before, after: after)
        try OperationLog.append(effect, at: position, time, in: layout, on: database)
    }

    func finish() throws {
        for (adapter, last) in touched { try StoredPositions.set(last, of: adapter, on: database) }
    }
}
