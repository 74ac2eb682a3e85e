import GRDB

/// Brings the host's own tables from one version to the next. New stores go the same way, so there is one definition.
enum HostUpgrade {
    /// Version 2: what replicas need. The log tells revisions, fields and instants, and finds a record's entries; its
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

    static func run(on database: Database) throws {
        try database.run("BEGIN IMMEDIATE")
        for statement in toVersion2 { try database.run(statement) }
        try database.run("PRAGMA user_version = 2")
        try database.run("COMMIT")
    }
}
