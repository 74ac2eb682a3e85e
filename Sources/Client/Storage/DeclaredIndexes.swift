import GRDB

/// The indexes that the app asked for: one for each field that it orders or filters by.
struct DeclaredIndexes {
    /// Fields by collection.
    let fields: [String: [String]]

    init(_ fields: [String: [String]]) {
        self.fields = fields
    }

    /// Makes those that are not there and drops those that are not wanted any more, or not in this form.
    func install(_ database: Database) throws {
        let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND name LIKE 'field:%'"
        let rows = try Row.fetchAll(database, sql: sql)
        let found = Dictionary(rows.map { ($0["name"] as String, $0["sql"] as String) }) { first, _ in first }
        for (name, definition) in found where definitions[name] != definition {
            try database.execute(sql: "DROP INDEX \(name.sqlName)")
        }
        for (name, definition) in definitions where found[name] != definition { try database.execute(sql: definition) }
    }

    private var definitions: [String: String] {
        var all: [String: String] = [:]
        for (collection, names) in fields {
            for field in names {
                let name = "field:\(collection):\(field)"
                // The collection is the first column, though it is the same in every entry: without it SQLite takes the
                // primary key, which begins with it, to be the cheaper way, and reads and sorts the whole collection.
                all[name] = """
                    CREATE INDEX \(name.sqlName) ON records (collection, field(fields, \(field.sqlText)), id)
                    WHERE collection = \(collection.sqlText)
                    """
            }
        }
        return all
    }
}

extension String {
    var sqlText: String { "'" + replacingOccurrences("'", with: "''") + "'" }
    var sqlName: String { "\"" + replacingOccurrences("\"", with: "\"\"") + "\"" }

    private func replacingOccurrences(_ mark: Character, with two: String) -> String {
        reduce(into: "") { $1 == mark ? $0.append(two) : $0.append($1) }
    }
}
