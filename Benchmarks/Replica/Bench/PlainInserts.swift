import Client
import Foundation
import GRDB
import SyncMessages
import WireFormats

/// The baseline of the comparison: the same rows, ready to be written, into a table of the same shape, in one transaction of one prepared
/// statement. Nothing is read, verified or kept in step.
struct PlainInserts {
    let gateway: ReadyGateway

    /// Seconds.
    func run(at url: URL) throws -> Double {
        let rows = try gateway.records.map { record in
            guard case .put(let fields) = record.kind else { return (record.id, record.rev, Data()) }
            return (record.id, record.rev, Data(try CBORFormat().write(.dictionary(fields.tree))))
        }
        let database = try DatabasePool(path: url.path)
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try database.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE records (
                        collection TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, waiting INTEGER NOT NULL,
                        fields BLOB NOT NULL, sealed BLOB, PRIMARY KEY (collection, id)) WITHOUT ROWID
                    """)
        }
        let start = ContinuousClock.now
        try database.write { database in
            let insert = try database.makeStatement(sql: "INSERT INTO records VALUES ('notes', ?, ?, 0, ?, NULL)")
            for (id, rev, fields) in rows { try insert.execute(arguments: [id, rev, fields]) }
        }
        return (ContinuousClock.now - start) / .seconds(1)
    }
}
