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

    /// Version 3: ids of deleted records stay theirs, and what belonged to a deleted record goes. The deletions that the
    /// log still tells of are made up for; who made them it does not say.
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

    private static let steps: [(version: Int64, statements: [String])] = [(2, toVersion2), (3, toVersion3)]

    /// All steps that lead on from `version`, in one transaction.
    static func run(from version: Int64, on database: Database) throws {
        try database.run("BEGIN IMMEDIATE")
        for step in steps where step.version > version {
            for statement in step.statements { try database.run(statement) }
            try database.run("PRAGMA user_version = \(step.version)")
        }
        try database.run("COMMIT")
    }
}
