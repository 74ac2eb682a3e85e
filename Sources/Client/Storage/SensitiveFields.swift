import Foundation
import GRDB
import SyncDevice
import SyncMessages
import ValueTree

/// Which fields are sealed is remembered with the rows. Where an app declares others, the rows are written anew.
struct SensitiveFields {
    private static let name = "sensitiveFields"
    let coding: RowCoding

    init(_ coding: RowCoding) {
        self.coding = coding
    }

    /// - Throws: where the cipher has another key than the one that the replica was written with, or there is none.
    func install(_ database: Database) throws {
        let row = try Data.fetchOne(database, sql: "SELECT value FROM device WHERE name = ?", arguments: [Self.name])
        if let row {
            let stored: WireValue
            do {
                stored = try coding.value(row, as: Self.name)
            } catch {
                throw StorageFailure("the replica was written with another key, or is to be read without one")
            }
            guard stored != declared else { return }
            for table in ["records", "beneath"] { try rewrite(table, database) }
            // Of a pull that was cut off: not worth anything, but not to lie open either.
            try database.execute(sql: "DROP TABLE IF EXISTS incoming")
        }
        try database.execute(
            sql: "INSERT OR REPLACE INTO device VALUES (?, ?)",
            arguments: [Self.name, try coding.blob(declared, as: Self.name)])
    }

    private var declared: WireValue {
        var members = WireDictionary()
        for (collection, fields) in coding.sensitiveFields.sorted(by: { $0.key < $1.key }) {
            members[collection] = .array(fields.sorted().map(WireValue.string))
        }
        return .dictionary(members)
    }

    private func rewrite(_ table: String, _ database: Database) throws {
        let rows = try Row.fetchCursor(
            database, sql: "SELECT collection, id, fields, sealed FROM \(table) WHERE fields IS NOT NULL")
        var fresh: [(RecordKey, RowCoding.Columns)] = []
        while let row = try rows.next() {
            let key = RecordKey(row["collection"], row["id"])
            let old = RowCoding.Columns(row)
            fresh.append((key, try coding.columns(RecordFields(try coding.fields(old, of: key)), of: key)))
        }
        for (key, columns) in fresh {
            try database.execute(
                sql: "UPDATE \(table) SET fields = ?, sealed = ? WHERE collection = ? AND id = ?",
                arguments: [Data(columns.fields), columns.sealed.map { Data($0) }, key.collection, key.id])
        }
    }
}
