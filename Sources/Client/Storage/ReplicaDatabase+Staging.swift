import GRDB
import SyncDevice
import SyncMessages

extension ReplicaDatabase {
    /// Puts a piece of a pull apart from the rows. Lost with the power, or with the process: the pull begins again then,
    /// and what is staged is dropped when its first piece is.
    public func stage(_ piece: StagedPiece) throws {
        if let failure = takeFailure() { throw failure }
        try pool.writeWithoutTransaction { database in
            // No wait for the disk. The commit of the whole pull waits, and with its own frames of the log for these
            // before it; the file is never damaged (https://sqlite.org/pragma.html#pragma_synchronous).
            try durability.relax(database)
            defer { durability.restore(database) }
            try database.inTransaction(.immediate) {
                try Staging(database, coding).add(piece)
                return .commit
            }
        }
    }

    public func staged(_ key: RecordKey) -> RecordCopy?? {
        reading(nil) { database in
            guard let row = try Self.stagedRow(key, database) else { return nil }
            return try copy(row, key)
        }
    }

    public func stagedRevision(_ key: RecordKey) -> Int64?? {
        reading(nil) { database in
            guard let row = try Self.stagedRow(key, database) else { return nil }
            return .some(row["waiting"] == Staging.goes ? nil : row["rev"])
        }
    }

    public func staged(of collection: String) -> [RecordKey: RecordCopy?] {
        reading([:]) { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT id, rev, waiting, fields, sealed FROM incoming WHERE collection = ?",
                arguments: [collection])
            var found: [RecordKey: RecordCopy?] = [:]
            while let row = try rows.next() {
                let key = RecordKey(collection, row["id"])
                found[key] = .some(try copy(row, key))
            }
            return found
        }
    }

    private static func stagedRow(_ key: RecordKey, _ database: Database) throws -> Row? {
        let statement = try database.cachedStatement(
            sql: "SELECT rev, waiting, fields, sealed FROM incoming WHERE collection = ? AND id = ?")
        return try Row.fetchOne(statement, arguments: [key.collection, key.id])
    }

    private func copy(_ row: Row, _ key: RecordKey) throws -> RecordCopy? {
        guard row["waiting"] != Staging.goes else { return nil }
        let columns = RowCoding.Columns(row)
        return RecordCopy(id: key.id, rev: row["rev"], fields: try coding.fields(columns, of: key))
    }
}
