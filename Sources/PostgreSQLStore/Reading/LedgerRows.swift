import AdapterKit
import RecordStorage

/// Clients that pushed, what they were answered, and copies that lost.
enum LedgerRows {
    private static let clientColumns = "client, identity, sequence, time"

    static func clients(_ ids: [ClientID]) -> SQLFragment {
        SQLFragment(
            "SELECT \(clientColumns) FROM portico_client WHERE client = ANY(?)",
            [.array(.bytes, ids.map { .text($0.text) })])
    }

    static func clients(after id: ClientID?, limit: Int) -> SQLFragment {
        SQLFragment(
            "SELECT \(clientColumns) FROM portico_client WHERE client > ? ORDER BY client LIMIT ?",
            [.text(id?.text ?? ""), .integer(Int64(limit))])
    }

    static func client(_ row: SQLRow) -> PushClient {
        PushClient(
            id: ClientID(unchecked: row.text(0)), identity: row.text(1), lastSequence: row.integer(2),
            time: WireDate(secondsSinceReferenceDate: row.real(3)))
    }

    static func outcomes(_ keys: [OutcomeKey]) -> SQLFragment {
        SQLFragment(
            """
            SELECT o.client, o.sequence, o.content, o.position FROM unnest(?, ?) AS u (c, s)
            JOIN portico_outcome o ON o.client = u.c AND o.sequence = u.s
            """,
            [
                .array(.bytes, keys.map { .text($0.client.text) }),
                .array(.integer, keys.map { .integer($0.sequence) }),
            ])
    }

    static func outcome(_ row: SQLRow) throws -> PushOutcome {
        PushOutcome(
            client: ClientID(unchecked: row.text(0)), sequence: row.integer(1),
            content: try EncodedValue.decode(row.bytes(2)).dictionaryValue ?? [:], position: Revision(row.integer(3)))
    }

    static func retired(_ ids: [RecordID], in layout: CollectionLayout) -> SQLFragment {
        SQLFragment(
            "SELECT record, author FROM portico_retired WHERE collection = ? AND record = ANY(?)",
            [.integer(layout.number), .array(.bytes, ids.map { .text($0.text) })])
    }

    static func copies(_ which: KeptCopies, before number: Int64?, limit: Int) -> SQLFragment {
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
        return statement
    }

    static func copy(_ row: SQLRow) throws -> KeptCopy {
        let copy = LosingCopy(
            collection: CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2))),
            id: RecordID(unchecked: row.text(3)), reason: LosingCopy.Reason(rawValue: row.text(4)) ?? .conflict,
            author: row.text(5), client: ClientID(unchecked: row.text(6)), sequence: row.integer(7),
            content: try EncodedValue.decode(row.bytes(8)).dictionaryValue ?? [:])
        return KeptCopy(
            number: row.integer(0), time: WireDate(secondsSinceReferenceDate: row.real(10)),
            position: Revision(row.integer(9)), copy: copy)
    }
}

extension CollectionLayout {
    /// Whether the ids of deleted records are kept: where records may be private and callers choose their ids.
    var keepsRetiredIDs: Bool { entity.hasPrivateRows && entity.key.chooser != .server }
}
