import AdapterKit
import GRDB
import RecordStorage

/// What lost a conflict or was rejected, kept for people.
struct StoredCopies {
    let database: Database

    func keep(_ copy: LosingCopy, at position: Revision, _ time: WireDate) throws {
        try database.run(
            """
            INSERT INTO portico_kept
                (adapter, entity, record, reason, author, client, sequence, content, position, time)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(copy.collection.adapter.text), .text(copy.collection.entity.text), .text(copy.id.text),
                .text(copy.reason.rawValue), .text(copy.author), .text(copy.client.text), .integer(copy.sequence),
                .blob(try EncodedValue.encode(.dictionary(copy.content))), .integer(position.number),
                .real(time.secondsSinceReferenceDate),
            ])
    }

    func copies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        var statement = SQLFragment(
            """
            SELECT number, adapter, entity, record, reason, author, client, sequence, content, position, time
            FROM portico_kept WHERE number < ?
            """, [.integer(number ?? .max)])
        if case .of(let id, let collection) = which {
            statement.append(
                " AND adapter = ? AND entity = ? AND record = ?",
                [.text(collection.adapter.text), .text(collection.entity.text), .text(id.text)])
        }
        statement.append(" ORDER BY number DESC LIMIT ?", [.integer(Int64(limit))])
        return try database.rows(statement, copy)
    }

    private func copy(_ row: RowReader) throws -> KeptCopy {
        let copy = LosingCopy(
            collection: CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2))),
            id: RecordID(unchecked: row.text(3)),
            reason: LosingCopy.Reason(rawValue: row.text(4)) ?? .conflict, author: row.text(5),
            client: ClientID(unchecked: row.text(6)), sequence: row.integer(7),
            content: try EncodedValue.decode(row.blob(8)).dictionaryValue ?? [:])
        return KeptCopy(
            number: row.integer(0), time: WireDate(secondsSinceReferenceDate: row.real(10)),
            position: Revision(row.integer(9)), copy: copy)
    }
}
