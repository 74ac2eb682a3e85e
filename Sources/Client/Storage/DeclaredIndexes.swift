import GRDB

/// The indexes that the app asked for: one for each field that it orders or filters by.
struct DeclaredIndexes {
    /// Fields by collection.
    let fields: [String: [String]]

    init(_ fields: [String: [String]]) {
        self.fields = fields
    }

    /// Makes those that are not there and drops those that are not wanted any more.
    func install(_ database: Database) throws {
        let sql = "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'field:%'"
        let found = Set(try String.fetchAll(database, sql: sql))
        for name in found.subtracting(definitions.keys) { try database.execute(sql: "DROP INDEX \(name.sqlName)") }
        for (name, definition) in definitions where !found.contains(name) { try database.execute(sql: definition) }
    }

    private var definitions: [String: String] {
        var all: [String: String] = [:]
        for (collection, names) in fields {
            for field in names {
                let name = "field:\(collection):\(field)"
                all[name] = """
                    CREATE INDEX \(name.sqlName) ON records (field(fields, \(field.sqlText)), id)
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
