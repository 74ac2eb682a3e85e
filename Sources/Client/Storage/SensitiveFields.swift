import Foundation
import GRDB
import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

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

/// The SQL function `field(fields, name)`: a field as SQLite compares it. Lists, dictionaries and sealed fields are null.
enum FieldFunction {
    static let function = DatabaseFunction("field", argumentCount: 2, pure: true) { arguments in
        guard let bytes = Data.fromDatabaseValue(arguments[0]), let name = String.fromDatabaseValue(arguments[1]),
            let value = try CBORFormat().read([UInt8](bytes))[name]
        else { return nil }
        return value.comparable
    }
}

extension WireValue {
    /// Numbers compare as numbers, dates by their steps of 100 nanoseconds, text and data by their bytes.
    package var comparable: (any DatabaseValueConvertible)? {
        switch self {
        case .bool(let flag): flag
        case .int64(let number): number
        case .uint64(let number): Double(number)
        case .double(let number): number
        case .decimal(let number): Double("\(number)")
        case .string(let text): text
        case .data(let bytes): Data(bytes)
        case .date(let instant): instant.ticks
        case .null, .array, .dictionary, .uid: nil
        }
    }
}
