import AdapterKit
import GRDB
import RecordStorage

/// Clients that pushed, and what they were answered.
struct StoredClients {
    let database: Database

    func client(_ id: ClientID) throws -> PushClient? {
        try clients("WHERE client = ?", [.text(id.text)]).first
    }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try clients("WHERE client > ? ORDER BY client LIMIT ?", [.text(id?.text ?? ""), .integer(Int64(limit))])
    }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try database.row(
            "SELECT content, position FROM portico_outcome WHERE client = ? AND sequence = ?",
            [.text(client.text), .integer(sequence)]
        ) { row in
            PushOutcome(
                client: client, sequence: sequence,
                content: try EncodedValue.decode(row.blob(0)).dictionaryValue ?? [:],
                position: Revision(row.integer(1)))
        }
    }

    private func clients(_ condition: String, _ values: [SQLValue]) throws -> [PushClient] {
        try database.rows(
            SQLFragment("SELECT client, identity, sequence, time FROM portico_client \(condition)", values)
        ) {
            PushClient(
                id: ClientID(unchecked: $0.text(0)), identity: $0.text(1), lastSequence: $0.integer(2),
                time: WireDate(secondsSinceReferenceDate: $0.real(3)))
        }
    }
}

extension StoredClients {
    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String,
        at position: Revision,
        _ time: WireDate
    ) throws {
        try check(sequence, client, identity)
        try database.run(
            """
            INSERT INTO portico_client (client, identity, sequence, time) VALUES (?, ?, ?, ?)
            ON CONFLICT (client) DO UPDATE SET sequence = excluded.sequence, time = excluded.time
            """,
            [.text(client.text), .text(identity), .integer(sequence), .real(time.secondsSinceReferenceDate)])
        try database.run(
            "INSERT INTO portico_outcome (client, sequence, content, position) VALUES (?, ?, ?, ?)",
            [
                .text(client.text), .integer(sequence), .blob(try EncodedValue.encode(.dictionary(content))),
                .integer(position.number),
            ])
    }

    private func check(_ sequence: Int64, _ id: ClientID, _ identity: String) throws {
        guard let known = try client(id) else { return }
        guard known.identity == identity else { throw PorticoError.clientOfAnother }
        guard sequence > known.lastSequence else { throw PorticoError.sequenceTaken }
    }
}
