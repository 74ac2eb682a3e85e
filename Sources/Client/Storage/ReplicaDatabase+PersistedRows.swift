import Foundation
import GRDB
import SyncDevice
import SyncMessages

extension ReplicaDatabase: PersistedRows {
    public func record(_ key: RecordKey) -> RecordCopy? {
        reading(nil) { database in
            guard let row = try Self.row(key, database), let rev = row["rev"] as Int64? else { return nil }
            let columns = RowCoding.Columns(row)
            return RecordCopy(id: key.id, rev: rev, fields: try coding.fields(columns, of: key))
        }
    }

    public func revision(_ key: RecordKey) -> Int64? {
        reading(nil) { try Self.row(key, $0)?["rev"] }
    }

    public func records(of collection: String) -> [RecordCopy] {
        reading([]) { database in
            let ids = try String.fetchAll(
                database,
                sql: """
                    SELECT id FROM records WHERE collection = ?1 UNION SELECT id FROM beneath WHERE collection = ?1
                    """, arguments: [collection])
            return try ids.compactMap { id in
                let key = RecordKey(collection, id)
                guard let row = try Self.row(key, database), let rev = row["rev"] as Int64? else { return nil }
                let columns = RowCoding.Columns(row)
                return RecordCopy(id: id, rev: rev, fields: try coding.fields(columns, of: key))
            }
        }
    }

    public func checksums() -> [String: ScopeChecksum] {
        reading([:]) { database in
            let rows = try Row.fetchAll(database, sql: "SELECT collection, count, sum FROM scopes")
            return Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    let sum = UInt64(bitPattern: row["sum"] as Int64)
                    return (row["collection"], ScopeChecksum(count: row["count"], sum: sum))
                })
        }
    }

    /// What the server has of a record, as far as is stored; its rev is null where that is nothing.
    private static func row(_ key: RecordKey, _ database: Database) throws -> Row? {
        let beneath = try database.cachedStatement(
            sql: "SELECT rev, fields, sealed FROM beneath WHERE collection = ? AND id = ?")
        if let row = try Row.fetchOne(beneath, arguments: [key.collection, key.id]) { return row }
        let shown = try database.cachedStatement(
            sql: "SELECT rev, fields, sealed FROM records WHERE collection = ? AND id = ?")
        return try Row.fetchOne(shown, arguments: [key.collection, key.id])
    }
}
