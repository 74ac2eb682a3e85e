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

    func forget(of identity: String) throws -> Int {
        try database.run(
            "DELETE FROM portico_outcome WHERE client IN (SELECT client FROM portico_client WHERE identity = ?)",
            [.text(identity)])
        try database.run("DELETE FROM portico_client WHERE identity = ?", [.text(identity)])
        return database.changesCount
    }

    private func check(_ sequence: Int64, _ id: ClientID, _ identity: String) throws {
        guard let known = try client(id) else { return }
        guard known.identity == identity else { throw PorticoError.clientOfAnother }
        guard sequence > known.lastSequence else { throw PorticoError.sequenceTaken }
    }
}

/// Values that lost a conflict or were rejected, kept for people.
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
        if database.lastInsertedRowID.isMultiple(of: KeptCopiesShare.interval) { try trim(copy.author) }
    }

    private func trim(_ author: String) throws {
        let newest = try database.rows(
            SQLFragment(
                "SELECT number, length(content) FROM portico_kept WHERE author = ? ORDER BY number DESC LIMIT ?",
                [.text(author), .integer(Int64(KeptCopiesShare.copies) + 1)])
        ) { ($0.integer(0), Int($0.integer(1))) }
        guard let beyond = KeptCopiesShare.firstBeyond(newest) else { return }
        try database.run(
            "DELETE FROM portico_kept WHERE author = ? AND number <= ?", [.text(author), .integer(beyond)])
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

/// Removes losing copies that were kept for long enough, between other writers' commits.
struct CopyRemoval {
    let readers: ReaderPool
    let writer: Writer

    /// Copies are numbered as they come, so those that go are the first but where the clock was set back: the removal
    /// reads hardly any others.
    func run(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        let last = try await readers.read { database in
            try database.row(
                "SELECT number FROM portico_kept WHERE time < ? ORDER BY number DESC LIMIT 1",
                [.real(instant.secondsSinceReferenceDate)]
            ) { $0.integer(0) } ?? 0
        }
        if dryRun { return try await count(upTo: last, before: instant) }
        var removed = 0
        while true {
            try Task.checkCancellation()
            let count = try await writer.run { database in
                try database.run(
                    """
                    DELETE FROM portico_kept WHERE number IN (
                        SELECT number FROM portico_kept WHERE number <= ? AND time < ? LIMIT ?)
                    """,
                    [
                        .integer(last), .real(instant.secondsSinceReferenceDate),
                        .integer(Int64(LogCompaction.rowsAtOnce)),
                    ])
                return database.changesCount
            }
            if count == 0 { return removed }
            removed += count
        }
    }

    private func count(upTo last: Int64, before instant: WireDate) async throws -> Int {
        try await readers.read { database in
            let count = try database.row(
                "SELECT count(*) FROM portico_kept WHERE number <= ? AND time < ?",
                [.integer(last), .real(instant.secondsSinceReferenceDate)]
            ) { $0.integer(0) }
            return Int(count ?? 0)
        }
    }
}
