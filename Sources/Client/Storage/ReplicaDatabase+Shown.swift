import GRDB
import SyncDevice
import SyncMessages

extension ReplicaDatabase {
    /// What an app sees of a collection, in the order of the ids' bytes.
    public func shown(of collection: String) -> [RecordCopy] {
        reading([]) { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT id, rev, fields, sealed FROM records WHERE collection = ? ORDER BY id",
                arguments: [collection])
            var found: [RecordCopy] = []
            while let row = try rows.next() {
                let key = RecordKey(collection, row["id"])
                let columns = RowCoding.Columns(row)
                found.append(RecordCopy(id: key.id, rev: row["rev"], fields: try coding.fields(columns, of: key)))
            }
            return found
        }
    }
}
