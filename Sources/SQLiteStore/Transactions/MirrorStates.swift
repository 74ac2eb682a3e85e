import AdapterKit
import GRDB
import RecordStorage

/// The stored states of mirrors beside their records.
struct MirrorStates {
    let database: Database

    func state(of collection: CollectionID) throws -> WireDictionary? {
        try database.row("SELECT content FROM portico_mirror WHERE collection = ?", [.text(collection.description)]) {
            try EncodedValue.decode($0.blob(0)).dictionaryValue ?? [:]
        }
    }

    func set(_ state: WireDictionary, of collection: CollectionID) throws {
        try database.run(
            """
            INSERT INTO portico_mirror (collection, content) VALUES (?, ?)
            ON CONFLICT (collection) DO UPDATE SET content = excluded.content
            """, [.text(collection.description), .blob(try EncodedValue.encode(.dictionary(state)))])
    }

    func replacements() throws -> [CollectionID: Revision] {
        let rows = try database.rows(
            SQLFragment("SELECT adapter, entity, replaced FROM portico_collection WHERE replaced > 0")
        ) {
            (
                CollectionID(AdapterName(unchecked: $0.text(0)), EntityName(unchecked: $0.text(1))),
                Revision($0.integer(2))
            )
        }
        return Dictionary(rows, uniquingKeysWith: { $1 })
    }
}
