import Foundation
import GRDB
import SyncDevice
import SyncMessages

/// Writes rows within a transaction.
struct RowWriting {
    private let database: Database
    private let coding: RowCoding
    private let statements: RowStatements

    init(_ database: Database, _ coding: RowCoding) throws {
        self.database = database
        self.coding = coding
        statements = try RowStatements(database)
    }

    /// What a pull brought. Records that the outbox has to do with are shown anew afterwards.
    func apply(_ staged: StagedRows, checksums rows: ReplicaRows) throws {
        for collection in staged.cleared {
            try run("DELETE FROM records WHERE collection = ?", [collection])
            try run("DELETE FROM beneath WHERE collection = ?", [collection])
        }
        let beneath = try Set(Row.fetchAll(database, sql: "SELECT collection, id FROM beneath").map(Self.key))
        // In the order of the keys the tree grows at its end, which is twice as fast.
        let changes = staged.changes.map { (key: $0.key, copy: $0.value) }.sorted { $0.key < $1.key }
        for start in stride(from: 0, to: changes.count, by: EncodedRows.atOnce) {
            let part = changes[start..<min(start + EncodedRows.atOnce, changes.count)]
            for (change, columns) in zip(part, try EncodedRows(coding).columns(part)) {
                if beneath.contains(change.key) {
                    try setBeneath(change.key, change.copy, columns)
                } else {
                    try setRecord(change.key, change.copy, columns, isWaiting: false)
                }
            }
        }
        for collection in staged.collections {
            let checksum = rows.checksum(of: collection)
            try run(
                "INSERT OR REPLACE INTO scopes VALUES (?, ?, ?)",
                [collection, checksum.count, Int64(bitPattern: checksum.sum)])
        }
    }

    func show(_ shown: ShownRecord) throws {
        let (key, arguments) = (shown.key, StatementArguments([shown.key.collection, shown.key.id]))
        guard shown.isLaidOver else { return try uncover(key, arguments) }
        try cover(arguments)
        let columns = try shown.record.map { try coding.columns($0.fields, of: key) }
        try setRecord(key, shown.record, columns, isWaiting: shown.isWaiting)
    }

    /// Keeps what the server has, unless that was done before.
    private func cover(_ key: StatementArguments) throws {
        try run(
            """
            INSERT OR IGNORE INTO beneath
            SELECT collection, id, rev, fields, sealed FROM records WHERE collection = ? AND id = ?
            """, key)
        // Where there was no record, there is none beneath either.
        try run("INSERT OR IGNORE INTO beneath (collection, id) VALUES (?, ?)", key)
    }

    private func uncover(_ key: RecordKey, _ arguments: StatementArguments) throws {
        let isCovered = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT * FROM beneath WHERE collection = ? AND id = ?)", arguments: arguments
        )
        guard isCovered == true else { return }
        try statements.remove(key)
        try run(
            """
            INSERT INTO records SELECT collection, id, rev, 0, fields, sealed FROM beneath
            WHERE collection = ? AND id = ? AND rev IS NOT NULL
            """, arguments)
        try run("DELETE FROM beneath WHERE collection = ? AND id = ?", arguments)
    }

    private func setRecord(
        _ key: RecordKey, _ copy: RecordCopy?, _ columns: RowCoding.Columns?, isWaiting: Bool
    ) throws {
        guard let copy, let columns else { return try statements.remove(key) }
        try statements.record.write([key.collection, key.id, copy.rev, isWaiting, columns.fields, columns.sealed])
    }

    private func setBeneath(_ key: RecordKey, _ copy: RecordCopy?, _ columns: RowCoding.Columns?) throws {
        try statements.beneath.write([key.collection, key.id, copy?.rev, columns?.fields, columns?.sealed])
    }

    private func run(_ sql: String, _ arguments: StatementArguments) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    private static func key(_ row: Row) -> RecordKey {
        RecordKey(row["collection"], row["id"])
    }
}
