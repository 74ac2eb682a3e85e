import AdapterKit
import GRDB
import RecordStorage

/// Brings records that were stored before values which some wire format cannot carry were refused to the nearest values
/// that every format carries (``WireValue/carriedByEveryFormat``). Each is a change like any other: it has a revision and
/// a log entry, so that replicas get it.
///
/// Runs once for each collection, which `portico_meta` remembers, and again where a field is seen that was hidden.
struct CarriedValueMigration {
    let layout: CollectionLayout
    let database: Database

    private static let page = 500

    /// How many records were changed.
    func run(_ touches: inout RecordTouches) throws -> Int {
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

    private func bring(_ found: StoredRow, _ touches: inout RecordTouches) throws -> Bool {
        guard found.record.fields.contains(where: { $0.value != replacement(of: $0) }) else { return false }
        do {
            try change(found, suffix: "", &touches)
        } catch let error as PorticoError where error.code == .recordExists {
            // Two values that must differ have become one.
            try change(found, suffix: "-\(found.row)", &touches)
        }
        return true
    }

    private func change(_ found: StoredRow, suffix: String, _ touches: inout RecordTouches) throws {
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
            try RowWriter(layout: layout, database: database).update(found, to: after)
            return try touches.log(before, after, in: layout)
        }
        if let key = layout.keyCondition(id),
            try database.hasRow(
                SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(key.sql)", key.values))
        {
            throw PorticoError(.recordExists, "Another record has the id.")
        }
        try RowWriter(layout: layout, database: database).delete(found)
        try touches.log(before, nil, in: layout)
        let after = Record(id: id, revision: touches.next(in: layout), fields: fields)
        _ = try RowWriter(layout: layout, database: database).insert(after)
        try touches.log(nil, after, in: layout)
    }

    private func replacement(of entry: WireDictionary.Entry) -> WireValue { entry.value.carriedByEveryFormat }
}
