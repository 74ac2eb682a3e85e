import AdapterKit
import GRDB
import RecordStorage

/// The host's own tables: what is installed, the log, positions, the epoch.
enum HostSchema {
    /// Grows with every change of these tables; kept in `user_version`.
    static let version: Int64 = 5
    /// "Port", in `application_id`, so that a file of another program is not taken for a store.
    static let applicationID: Int64 = 0x506F_7274

    private static let tables = original + HostUpgrade.toVersion2 + HostUpgrade.toVersion3 + HostUpgrade.toVersion4

    /// As version 1 had them.
    private static let original = [
        "CREATE TABLE portico_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
        """
        CREATE TABLE portico_collection (
            number INTEGER PRIMARY KEY, adapter TEXT NOT NULL, entity TEXT NOT NULL, key TEXT NOT NULL,
            search TEXT NOT NULL, UNIQUE (adapter, entity)
        ) STRICT
        """,
        """
        CREATE TABLE portico_field (
            collection INTEGER NOT NULL REFERENCES portico_collection (number), name TEXT NOT NULL,
            kind TEXT NOT NULL, hidden INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (collection, name)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE portico_log (
            position INTEGER PRIMARY KEY, collection INTEGER NOT NULL, record TEXT NOT NULL, kind INTEGER NOT NULL,
            previous BLOB
        ) STRICT
        """,
        "CREATE TABLE portico_position (adapter TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    ]

    /// Makes the tables in an empty file. Throws ``PorticoError`` for a file of another program or of a later version.
    static func prepare(_ database: Database, epoch: () -> Epoch) throws -> Epoch {
        let application = try number("application_id", database)
        let found = try number("user_version", database)
        if application == 0, found == 0, try isEmpty(database) { return try create(database, epoch()) }
        guard application == applicationID else { throw foreign }
        if (1..<version).contains(found) { try HostUpgrade.run(from: found, on: database) }
        try check(database)
        return try self.epoch(database)
    }

    /// Throws ``PorticoError`` for a file that is no store of this version.
    static func check(_ database: Database) throws {
        guard try number("application_id", database) == applicationID else { throw foreign }
        guard try number("user_version", database) == version else {
            throw refusal("The store was written by another version of this program.")
        }
    }

    private static let foreign = refusal("The file is no store of this program.")

    private static func create(_ database: Database, _ epoch: Epoch) throws -> Epoch {
        try database.atomically {
            for table in tables { try database.run(table) }
            try database.run("INSERT INTO portico_meta VALUES ('epoch', ?)", [.text(epoch.text)])
            try database.run("PRAGMA application_id = \(applicationID)")
            try database.run("PRAGMA user_version = \(version)")
        }
        return epoch
    }

    static func epoch(_ database: Database) throws -> Epoch {
        guard let text = try database.row("SELECT value FROM portico_meta WHERE name = 'epoch'", [], { $0.text(0) })
        else { throw refusal("The store has no epoch.") }
        return Epoch(text)
    }

    /// Gives the store another epoch.
    static func renew(_ epoch: Epoch, _ database: Database) throws -> Epoch {
        try database.run("UPDATE portico_meta SET value = ? WHERE name = 'epoch'", [.text(epoch.text)])
        return epoch
    }

    private static func isEmpty(_ database: Database) throws -> Bool {
        try !database.hasRow(SQLFragment("SELECT 1 FROM sqlite_schema"))
    }

    private static func number(_ pragma: String, _ database: Database) throws -> Int64 {
        try database.row("PRAGMA \(pragma)") { $0.integer(0) } ?? 0
    }

    private static func refusal(_ message: String) -> PorticoError { PorticoError(.storeUnavailable, message) }
}

/// Brings the host's own tables from one version to the next. New stores go the same way, so there is one definition.
enum HostUpgrade {
    /// Version 2: what replicas need. The log has revisions, fields and instants, and finds a record's entries; its
    /// beginning can be removed; pushes are remembered.
    static let toVersion2 = [
        "ALTER TABLE portico_log ADD COLUMN before INTEGER",
        "ALTER TABLE portico_log ADD COLUMN changed TEXT",
        "ALTER TABLE portico_log ADD COLUMN time REAL NOT NULL DEFAULT 0",
        "CREATE INDEX portico_log_record ON portico_log (collection, record)",
        "CREATE TABLE portico_floor (floor INTEGER NOT NULL) STRICT",
        "INSERT INTO portico_floor VALUES (0)",
        """
        CREATE TABLE portico_client (
            client TEXT PRIMARY KEY, identity TEXT NOT NULL, sequence INTEGER NOT NULL, time REAL NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE portico_outcome (
            client TEXT NOT NULL, sequence INTEGER NOT NULL, content BLOB NOT NULL, position INTEGER NOT NULL,
            UNIQUE (client, sequence)
        ) STRICT
        """,
        "CREATE INDEX portico_outcome_position ON portico_outcome (position)",
        """
        CREATE TABLE portico_kept (
            number INTEGER PRIMARY KEY AUTOINCREMENT, adapter TEXT NOT NULL, entity TEXT NOT NULL,
            record TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL, client TEXT NOT NULL,
            sequence INTEGER NOT NULL, content BLOB NOT NULL, position INTEGER NOT NULL, time REAL NOT NULL
        ) STRICT
        """,
        "CREATE INDEX portico_kept_record ON portico_kept (adapter, entity, record)",
    ]

    /// Version 3: ids of deleted records stay theirs, and what belonged to a deleted record goes. The deletions that the
    /// log still has are made up for; their authors are unknown.
    static let toVersion3 = [
        """
        CREATE TABLE portico_retired (
            collection INTEGER NOT NULL, record TEXT NOT NULL, author TEXT NOT NULL, PRIMARY KEY (collection, record)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE portico_unfinished_removal (
            collection INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (collection, record)
        ) STRICT, WITHOUT ROWID
        """,
        "INSERT OR IGNORE INTO portico_retired SELECT collection, record, '' FROM portico_log WHERE kind = 1",
        "INSERT INTO portico_unfinished_removal SELECT collection, record FROM portico_retired",
    ]

    /// Version 4: collections that mirror another system's. Where the log says last that one was replaced as a whole, and
    /// what is known of the other system's state.
    static let toVersion4 = [
        "ALTER TABLE portico_collection ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0",
        """
        CREATE TABLE portico_mirror (collection TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT, WITHOUT ROWID
        """,
    ]

    /// Version 5: the copies of one author are found, since they have a share.
    static let toVersion5 = ["CREATE INDEX IF NOT EXISTS portico_kept_author ON portico_kept (author, number)"]

    private static let steps: [(version: Int64, statements: [String])] = [
        (2, toVersion2), (3, toVersion3), (4, toVersion4), (5, toVersion5),
    ]

    /// All steps that lead on from `version`, in one transaction.
    static func run(from version: Int64, on database: Database) throws {
        try database.atomically {
            for step in steps where step.version > version {
                for statement in step.statements { try database.run(statement) }
                try database.run("PRAGMA user_version = \(step.version)")
            }
        }
    }
}

extension Database {
    /// Everything that `body` does, or nothing where it throws: no access to a connection may end within a transaction.
    func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            try? run("ROLLBACK")
            throw error
        }
    }
}
