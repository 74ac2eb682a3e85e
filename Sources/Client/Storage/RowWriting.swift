import Foundation
import GRDB
import SyncDevice
import SyncMessages

/// Writes rows within a transaction.
struct RowWriting {
    private let database: Database
    private let coding: RowCoding

    init(_ database: Database, _ coding: RowCoding) {
        self.database = database
        self.coding = coding
    }

    /// What a pull brought. Records that the outbox has to do with are shown anew afterwards.
    func apply(_ staged: StagedRows, checksums rows: ReplicaRows) throws {
        for collection in staged.cleared {
            try run("DELETE FROM records WHERE collection = ?", [collection])
            try run("DELETE FROM beneath WHERE collection = ?", [collection])
        }
        let beneath = try Set(Row.fetchAll(database, sql: "SELECT collection, id FROM beneath").map(Self.key))
        // In the order of the keys the tree grows at its end, which is twice as fast.
        for (key, copy) in staged.changes.sorted(by: { $0.key < $1.key }) {
            if beneath.contains(key) {
                try setBeneath(key, copy)
            } else {
                try setRecord(key, copy, isWaiting: false)
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
        try setRecord(key, shown.record, isWaiting: shown.isWaiting)
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
        try setRecord(key, nil, isWaiting: false)
        try run(
            """
            INSERT INTO records SELECT collection, id, rev, 0, fields, sealed FROM beneath
            WHERE collection = ? AND id = ? AND rev IS NOT NULL
            """, arguments)
        try run("DELETE FROM beneath WHERE collection = ? AND id = ?", arguments)
    }

    private func setRecord(_ key: RecordKey, _ copy: RecordCopy?, isWaiting: Bool) throws {
        guard let copy else {
            return try run("DELETE FROM records WHERE collection = ? AND id = ?", [key.collection, key.id])
        }
        let columns = try coding.columns(copy.fields, of: key)
        try run(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)",
            [key.collection, key.id, copy.rev, isWaiting, columns.fields, columns.sealed])
    }

    private func setBeneath(_ key: RecordKey, _ copy: RecordCopy?) throws {
        let columns = try copy.map { try coding.columns($0.fields, of: key) }
        try run(
            "INSERT OR REPLACE INTO beneath VALUES (?, ?, ?, ?, ?)",
            [key.collection, key.id, copy?.rev, columns?.fields, columns?.sealed])
    }

    private func run(_ sql: String, _ arguments: StatementArguments) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    private static func key(_ row: Row) -> RecordKey {
        RecordKey(row["collection"], row["id"])
    }
}
