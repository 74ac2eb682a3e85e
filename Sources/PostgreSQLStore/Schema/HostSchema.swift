import AdapterKit
import RecordStorage

/// The host's own tables, and what a server must be for them.
enum HostSchema {
    /// Grows with every change of these tables.
    static let version = 1
    private static let oldestServer = 140_000

    private static let tables = [
        "CREATE TABLE portico_meta (name text PRIMARY KEY, value text NOT NULL)",
        """
        CREATE TABLE portico_sequence (
            one boolean PRIMARY KEY DEFAULT true CHECK (one), epoch text NOT NULL, position bigint NOT NULL,
            floor bigint NOT NULL, generation bigint NOT NULL, commits bigint NOT NULL, token bytea NOT NULL,
            kept bigint NOT NULL, adapters bytea NOT NULL
        ) WITH (fillfactor = 10)
        """,
        """
        CREATE TABLE portico_commit (number bigint PRIMARY KEY, position bigint NOT NULL, token bytea NOT NULL)
        """,
        """
        CREATE TABLE portico_collection (
            number bigint PRIMARY KEY, adapter text NOT NULL, entity text NOT NULL, key text NOT NULL,
            search text NOT NULL, fields bigint NOT NULL, last bigint NOT NULL DEFAULT 0, UNIQUE (adapter, entity)
        )
        """,
        """
        CREATE TABLE portico_field (
            collection bigint NOT NULL REFERENCES portico_collection (number), name text NOT NULL,
            number bigint NOT NULL, kind text NOT NULL, hidden boolean NOT NULL, PRIMARY KEY (collection, name)
        )
        """,
        """
        CREATE TABLE portico_index (
            number bigint PRIMARY KEY, collection bigint NOT NULL REFERENCES portico_collection (number),
            definition text NOT NULL, UNIQUE (collection, definition)
        )
        """,
        """
        CREATE TABLE portico_log (
            position bigint PRIMARY KEY, collection bigint NOT NULL, record bytea NOT NULL, kind bigint NOT NULL,
            previous bytea, before bigint, changed bytea, time double precision NOT NULL
        )
        """,
        "CREATE INDEX portico_log_record ON portico_log (collection, record, position)",
        """
        CREATE TABLE portico_client (
            client bytea PRIMARY KEY, identity bytea NOT NULL, sequence bigint NOT NULL, time double precision NOT NULL
        )
        """,
        """
        CREATE TABLE portico_outcome (
            client bytea NOT NULL, sequence bigint NOT NULL, content bytea NOT NULL, position bigint NOT NULL,
            PRIMARY KEY (client, sequence)
        )
        """,
        "CREATE INDEX portico_outcome_position ON portico_outcome (position)",
        """
        CREATE TABLE portico_kept (
            number bigint PRIMARY KEY, adapter bytea NOT NULL, entity bytea NOT NULL, record bytea NOT NULL,
            reason bytea NOT NULL, author bytea NOT NULL, client bytea NOT NULL, sequence bigint NOT NULL,
            content bytea NOT NULL, position bigint NOT NULL, time double precision NOT NULL
        )
        """,
        "CREATE INDEX portico_kept_record ON portico_kept (adapter, entity, record)",
        "CREATE INDEX portico_kept_author ON portico_kept (author, number)",
        """
        CREATE TABLE portico_retired (
            collection bigint NOT NULL, record bytea NOT NULL, author bytea NOT NULL, PRIMARY KEY (collection, record)
        )
        """,
    ]

    /// Refuses a server that cannot keep the store, and makes the tables where the schema is empty. Each refusal is one
    /// line that says what to do. Throws ``PorticoError`` and ``PostgreSQLFailure``.
    static func prepare(_ connection: Connection, schema: String, epoch: () -> Epoch) throws -> Sequence {
        try checkServer(connection)
        if try isEmpty(connection, schema) { try create(connection, schema, epoch()) }
        try checkVersion(connection, schema)
        return try Sequence(read(connection, [Sequence.selection])[0])
    }

    private static func read(_ connection: Connection, _ statements: [SQLFragment]) throws -> [SQLRows] {
        for statement in statements { try connection.sendOnce(statement) }
        return try connection.synchronize(Connection.WaitLimits(deadline: .now + .seconds(30)))
    }

    private static func checkServer(_ connection: Connection) throws {
        guard connection.serverVersion >= oldestServer else {
            throw refusal(
                "The PostgreSQL server is version \(connection.serverVersion / 10_000): upgrade it to 14 or later.")
        }
        guard connection.parameter("server_encoding") == "UTF8" else {
            throw refusal(
                "The database's encoding is \(connection.parameter("server_encoding") ?? "unknown"): create it with "
                    + "ENCODING 'UTF8'.")
        }
        let row = try read(
            connection,
            [
                SQLFragment(
                    "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery()")
            ])[0][0]
        for (column, name) in ["fsync", "full_page_writes"].enumerated() where row.text(column) != "on" {
            throw refusal("The server's `\(name)` is off, so a crash loses data: switch it on.")
        }
        if row.bool(2) { throw refusal("The server is a standby: name the primary in `store.url`.") }
    }

    private static func isEmpty(_ connection: Connection, _ schema: String) throws -> Bool {
        let found = try read(
            connection,
            [
                SQLFragment("SELECT 1 FROM pg_namespace WHERE nspname = '\(schema)'"),
                SQLFragment(
                    "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                        + "WHERE n.nspname = '\(schema)' AND c.relkind IN ('r', 'p', 'v', 'm')"),
                SQLFragment("SELECT has_database_privilege(current_database(), 'CREATE')"),
            ])
        if found[0].count == 0 {
            guard found[2][0].bool(0) else {
                throw refusal(
                    "The account may not create the schema `\(schema)`: run CREATE SCHEMA \(schema) AUTHORIZATION for it."
                )
            }
            return true
        }
        let names = found[1].map { $0.text(0) }
        if names.isEmpty { return true }
        guard names.contains("portico_meta"), names.contains("portico_sequence") else {
            throw refusal("The schema `\(schema)` belongs to another program: name an empty one in `store.schema`.")
        }
        return false
    }

    /// Creates the schema. Of two that make it at once one fails, and finds it made.
    private static func create(_ connection: Connection, _ schema: String, _ epoch: Epoch) throws {
        let statements =
            ["BEGIN", "CREATE SCHEMA IF NOT EXISTS \(schema)"] + tables + [
                "INSERT INTO portico_meta VALUES ('application', 'portico'), ('version', '\(version)')"
            ]
        do {
            for statement in statements { try connection.sendOnce(SQLFragment(statement)) }
            try connection.sendOnce(
                SQLFragment(
                    """
                    INSERT INTO portico_sequence (epoch, position, floor, generation, commits, token, kept, adapters)
                    VALUES (convert_from(?, 'UTF8'), 0, 0, 0, 0, '', 0, '')
                    """, [.text(epoch.text)]))
            try connection.sendOnce(SQLFragment("COMMIT"))
            try connection.synchronize(Connection.WaitLimits(deadline: .now + .seconds(30)))
        } catch let failure as PostgreSQLFailure where ["23505", "42P06", "42P07"].contains(failure.state ?? "") {
            try connection.sendOnce(SQLFragment("ROLLBACK"))
            try connection.synchronize(Connection.WaitLimits(deadline: .now + .seconds(30)))
        } catch let failure as PostgreSQLFailure where failure.state == "42501" {
            throw refusal("The account may not create tables in the schema `\(schema)`: grant it CREATE and USAGE.")
        }
    }

    private static func checkVersion(_ connection: Connection, _ schema: String) throws {
        let found: [SQLRows]
        do {
            found = try read(
                connection,
                [
                    SQLFragment("SELECT value FROM portico_meta WHERE name = 'version'"),
                    SQLFragment(
                        """
                        SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                        WHERE n.nspname = '\(schema)' AND c.relkind = 'r' AND NOT (
                            has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                            AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
                        LIMIT 1
                        """),
                ])
        } catch let failure as PostgreSQLFailure where ["42501", "42P01"].contains(failure.state ?? "") {
            throw refusal(
                "The account may not read the schema `\(schema)`: grant it USAGE, and all rights on its tables.")
        }
        if found[1].count > 0 {
            throw refusal("The account lacks rights on the table `\(found[1][0].text(0))`: grant it all rights on it.")
        }
        guard found[0].count == 1, let stored = Int(found[0][0].text(0)) else {
            throw refusal("The schema `\(schema)` belongs to another program: name an empty one in `store.schema`.")
        }
        guard stored == version else {
            throw refusal("The store was written by a later version of this program: install that one.")
        }
    }

    private static func refusal(_ message: String) -> PorticoError { PorticoError(.storeUnavailable, message) }
}
