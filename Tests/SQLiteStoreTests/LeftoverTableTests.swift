import GRDB
import Testing

@testable import SQLiteStore

@Suite struct LeftoverTableTests {
    @Test func `a full-text index that was emptied in part can be dropped by the next process`() throws {
        let directory = try TemporaryDirectory()
        let name = "staff/people~~replaced~search"
        let first = try DatabaseQueue(path: directory.path)
        try first.write { database in
            try database.execute(sql: "CREATE VIRTUAL TABLE \(name.quotedIdentifier) USING fts5(text)")
            // Some 400 pages: more than one piece.
            try database.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
                    INSERT INTO \(name.quotedIdentifier) SELECT hex(randomblob(6)) || ' ' || hex(randomblob(6)) FROM n
                    """)
        }
        let table = LeftoverTable(name: name, isSearch: true)
        for _ in 0..<2 { try first.write { try table.removePart(on: $0) } }
        try first.close()
        let next = try DatabaseQueue(path: directory.path)
        let isThere = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'staff%'"
        #expect(try next.read { try Int.fetchOne($0, sql: isThere) ?? 0 } > 0, "the first one had dropped it already")
        try next.write { try table.drop(on: $0) }
        #expect(try next.read { try Int.fetchOne($0, sql: isThere) } == 0)
    }
}
