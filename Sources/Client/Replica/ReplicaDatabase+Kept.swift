import Foundation
import GRDB
import ReplicaStorage
import ValueTree

/// What services keep beside the records: one value under each name, sealed where there is a cipher.
extension ReplicaDatabase {
    func kept(_ name: String) async throws -> WireValue? {
        do {
            return try await pool.read { try self.value(name, $0) }
        } catch {
            throw ClientError.storage("\(error)")
        }
    }

    func keep(_ name: String, _ body: @escaping @Sendable (WireValue?) -> WireValue?) async throws -> Bool {
        do {
            return try await pool.write { database in
                guard let value = body(try self.value(name, database)) else { return false }
                try database.execute(
                    sql: "INSERT OR REPLACE INTO device VALUES (?, ?)",
                    arguments: [name, try self.coding.blob(value, as: name)])
                return true
            }
        } catch {
            throw ClientError.storage("\(error)")
        }
    }

    private func value(_ name: String, _ database: Database) throws -> WireValue? {
        let sql = "SELECT value FROM device WHERE name = ?"
        return try Data.fetchOne(database, sql: sql, arguments: [name]).map { try coding.value($0, as: name) }
    }
}
