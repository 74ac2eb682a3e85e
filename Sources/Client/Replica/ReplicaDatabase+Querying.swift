import Foundation
import GRDB
import ReplicaStorage
import SyncDevice

/// What the app asks for, answered beside whatever is written.
extension ReplicaDatabase {
    func records(_ query: RecordQuery) async throws -> [Record] {
        try await asked { database in
            let statement = QueryStatement(query)
            let rows = try Row.fetchCursor(
                try database.cachedStatement(sql: statement.sql), arguments: statement.arguments)
            var found: [Record] = []
            while let row = try rows.next() { found.append(try self.record(row, in: query.collection)) }
            return found
        }
    }

    func count(_ query: RecordQuery) async throws -> Int {
        try await asked { database in
            let inner = QueryStatement(query, selecting: "id")
            let sql = "SELECT count(*) FROM (\(inner.sql))"
            return try Int.fetchOne(database, sql: sql, arguments: inner.arguments) ?? 0
        }
    }

    private func record(_ row: Row, in collection: String) throws -> Record {
        let key = RecordKey(collection, row["id"])
        let columns = RowCoding.Columns(row)
        return Record(
            collection: collection, id: key.id, revision: row["rev"], fields: try coding.fields(columns, of: key),
            isWaiting: row["waiting"])
    }

    private func asked<Result: Sendable>(_ work: @escaping @Sendable (Database) throws -> Result) async throws -> Result
    {
        do {
            return try await pool.read(work)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ClientError.storage("\(error)")
        }
    }
}
