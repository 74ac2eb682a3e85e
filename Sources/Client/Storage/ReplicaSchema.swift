import GRDB

/// The tables of a replica.
///
///     device    what there is one of: clientID, checkpoint, outbox (the last snapshot), sensitiveFields
///     journal   the device's entries since that snapshot, in their order
///     scopes    each collection's checksum
///     records   what the app sees: the server's record, or the one that edits of this device made of it
///     beneath   the server's record where `records` shows another one; rev null: the server has none
///     uploads   attachments that the server does not have yet; refused: it will not take them
///     incoming  what a pull that is not complete has staged (``Staging``); there while a long pull is under way, and
///               after one that was cut off
///
/// `records` and `beneath` have no row ids: one tree less to write. SQLite tells nobody of changes in such tables, so
/// whoever writes says what changed.
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
