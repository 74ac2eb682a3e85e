import GRDB

/// The tables of a replica.
///
///     device    what there is one of: clientID, checkpoint, outbox (the last snapshot), sensitiveFields, ages
///     journal   the device's entries since that snapshot, in their order
///     scopes    each collection's checksum
///     records   what the app sees: the server's record, or the one that edits of this device made of it
///     beneath   the server's record where `records` shows another one; rev null: the server has none
///     uploads   attachments that the server does not have yet; refused: it will not take them
///     incoming  what a pull that is not complete has staged (``PullStaging``); there while a long pull is under way, and
///               after one that was cut off
///
/// `records` and `beneath` have no row ids: one tree less to write. SQLite reports no changes of such tables, so
/// anyone who writes says what changed.
enum ReplicaSchema {
    /// `PRAGMA user_version` of the files that this code writes.
    static let version = 1

    static func install(_ database: Database) throws {
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        guard found != version else { return }
        guard found == 0 else { throw StorageFailure("the replica is of layout \(found); this is \(version)") }
        try database.execute(sql: tables)
        try database.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// `incoming` has the columns of `records`, whose place it may take.
    static func createRecords(as name: String) -> String {
        """
        CREATE TABLE \(name) (
            collection TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, waiting INTEGER NOT NULL,
            fields BLOB NOT NULL, sealed BLOB, PRIMARY KEY (collection, id)) WITHOUT ROWID;
        """
    }

    private static let tables = """
        CREATE TABLE device (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE journal (number INTEGER PRIMARY KEY, entry BLOB NOT NULL);
        CREATE TABLE scopes (collection TEXT PRIMARY KEY, count INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
        \(createRecords(as: "records"))
        CREATE TABLE beneath (
            collection TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER, fields BLOB, sealed BLOB,
            PRIMARY KEY (collection, id)) WITHOUT ROWID;
        CREATE TABLE uploads (digest TEXT PRIMARY KEY, refused TEXT) WITHOUT ROWID;
        """
}

/// The indexes that the app asked for, by the fields that it filters and orders by.
package struct DeclaredIndexes: Sendable {
    private let definitions: [String: String]
    private let statistics: [String: String]

    /// - Parameter indexes: by collection, the fields of each index.
    package init(_ indexes: [String: Set<[String]>]) {
        let all = indexes.flatMap { collection, list in list.filter { !$0.isEmpty }.map { (collection, $0) } }
        definitions = Dictionary(uniqueKeysWithValues: all.map { (Self.name($0, $1), Self.definition($0, $1)) })
        statistics = Dictionary(uniqueKeysWithValues: all.map { (Self.name($0, $1), Self.statistics($1.count)) })
    }

    /// Makes those that are not there and drops those that are not wanted any more, or not in this form.
    package func install(_ database: Database) throws {
        let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND name LIKE 'field:%'"
        let rows = try Row.fetchAll(database, sql: sql)
        let found = Dictionary(rows.map { ($0["name"] as String, $0["sql"] as String) }) { first, _ in first }
        for (name, definition) in found where definitions[name] != definition {
            try database.execute(sql: "DROP INDEX \(name.sqlName)")
        }
        for (name, definition) in definitions where found[name] != definition { try database.execute(sql: definition) }
        try tell(database)
    }

    /// Tells the planner what is true of every replica that is worth an index: a collection is long, and a field's value
    /// is that of a few records. Left to its own guess it takes the primary key for as good, and reads the whole
    /// collection.
    private func tell(_ database: Database) throws {
        let wanted = statistics.merging(["records": "1000000 1000000 1"]) { first, _ in first }
        try database.execute(sql: "ANALYZE sqlite_schema")
        let rows = try Row.fetchAll(database, sql: "SELECT idx, stat FROM sqlite_stat1 WHERE tbl = 'records'")
        let found = Dictionary(rows.map { ($0["idx"] as String? ?? "", $0["stat"] as String) }) { first, _ in first }
        guard found != wanted else { return }
        try database.execute(sql: "DELETE FROM sqlite_stat1 WHERE tbl = 'records'")
        for (name, statistics) in wanted {
            try database.execute(
                sql: "INSERT INTO sqlite_stat1 VALUES ('records', ?, ?)", arguments: [name, statistics])
        }
        try database.execute(sql: "ANALYZE sqlite_schema")
    }

    private static func name(_ collection: String, _ fields: [String]) -> String {
        "field:\(collection):\(fields.joined(separator: ","))"
    }

    /// Grows with every change of ``ValueTree/WireValue/comparable``, so that indexes over other values are made anew.
    private static let form = 2

    /// The collection is the first column, though it is the same in every entry: without it SQLite takes the primary key,
    /// which begins with it, to be the cheaper way, and reads and sorts the whole collection.
    private static func definition(_ collection: String, _ fields: [String]) -> String {
        let columns = fields.map { "field(fields, \($0.sqlText))" }.joined(separator: ", ")
        return """
            CREATE INDEX \(name(collection, fields).sqlName) ON records (collection, \(columns), id)
            WHERE collection = \(collection.sqlText) /* \(form) */
            """
    }

    /// Rows in all, and by how many of them each longer beginning of the columns is shared (`sqlite_stat1`).
    private static func statistics(_ fields: Int) -> String {
        let shared = (1...fields).map { $0 < fields ? "10000" : "10" }.joined(separator: " ")
        return "1000000 1000000 \(shared) 1"
    }
}

extension String {
    package var sqlText: String { "'" + replacingOccurrences("'", with: "''") + "'" }
    package var sqlName: String { "\"" + replacingOccurrences("\"", with: "\"\"") + "\"" }

    private func replacingOccurrences(_ mark: Character, with two: String) -> String {
        reduce(into: "") { $1 == mark ? $0.append(two) : $0.append($1) }
    }
}
