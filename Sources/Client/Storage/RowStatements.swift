import GRDB
import SyncDevice

/// What is done to every row, prepared once for a transaction.
struct RowStatements {
    let record: Statement
    let beneath: Statement
    private let removal: Statement

    init(_ database: Database) throws {
        record = try database.cachedStatement(sql: "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)")
        beneath = try database.cachedStatement(sql: "INSERT OR REPLACE INTO beneath VALUES (?, ?, ?, ?, ?)")
        removal = try database.cachedStatement(sql: "DELETE FROM records WHERE collection = ? AND id = ?")
    }

    func remove(_ key: RecordKey) throws {
        try removal.write([key.collection, key.id])
    }
}

extension Statement {
    /// Without a look at whether there are as many values as the statement takes: there are.
    func write(_ values: StatementArguments) throws {
        setUncheckedArguments(values)
        try execute()
    }
}
