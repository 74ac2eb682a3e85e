import AdapterKit
import RecordStorage

/// The changes of one group of transactions, in their order: buffered until they are written, and undone from the end.
struct ChangeJournal {
    struct KeptRow {
        let number: Int64
        let position: Int64
        let copy: LosingCopy
        let content: [UInt8]
    }

    struct LogRow {
        let entry: LogEntry
        let collection: Int64
        let previous: [UInt8]?
    }

    /// One change, with what was there before it; nil within an optional: the journal knew nothing.
    private enum Entry {
        case row(CollectionLayout, RowKey, before: Record??)
        case log(LogRow)
        case client(ClientID, before: PushClient??)
        case outcome(PushOutcome, before: PushOutcome??)
        case kept(KeptRow)
        case retired(RowKey, before: String?)
        case lastKey(Int64, before: Int64?)
        /// A statement that changed the database by itself.
        case statement
    }

    /// A place to go back to.
    struct Mark {
        fileprivate let count: Int
        fileprivate let position: Int64
        fileprivate let kept: Int64
        fileprivate let adapters: [AdapterName: Int64]
    }

    private var entries: [Entry] = []
    /// Entries that the database has.
    private var written = 0
    /// Places at which writing began, each after a savepoint.
    private var savepoints: [Int] = []

    /// The last operation id that was given.
    private(set) var position: Int64
    private(set) var kept: Int64
    private(set) var adapters: [AdapterName: Int64]
    private(set) var rows: [RowKey: Record?] = [:]
    private(set) var clients: [ClientID: PushClient?] = [:]
    private(set) var outcomes: [OutcomeKey: PushOutcome?] = [:]
    private(set) var retired: [RowKey: String] = [:]
    private(set) var lastKeys: [Int64: Int64] = [:]

    init(_ sequence: Sequence) {
        position = sequence.position
        kept = sequence.kept
        adapters = sequence.adapters
    }

    var isEmpty: Bool { entries.isEmpty }
    var isWritten: Bool { written == entries.count }

    var mark: Mark { Mark(count: entries.count, position: position, kept: kept, adapters: adapters) }

    /// Log entries that the database does not have, newest first.
    func unwrittenHistory(of key: RowKey) -> [LogEntry] {
        entries[written...].reversed().compactMap { entry in
            guard case .log(let row) = entry, row.collection == key.collection, row.entry.id == key.id else {
                return nil
            }
            return row.entry
        }
    }
}

extension ChangeJournal {
    mutating func put(_ record: Record?, at key: RowKey, in layout: CollectionLayout) {
        entries.append(.row(layout, key, before: rows[key]))
        rows[key] = .some(record)
    }

    /// Numbers a change of a record and logs it.
    mutating func log(
        _ before: Record?, _ after: Record?, _ key: RowKey, in layout: CollectionLayout, at time: WireDate
    )
        throws
    {
        position += 1
        adapters[layout.id.adapter] = position
        var scope = WireDictionary()
        if let before { for field in layout.scopeFields { scope[field.text] = before[field] } }
        var changed: [FieldName]?
        if let before, let after {
            changed = zip(before.fields, after.fields).compactMap {
                $0.value == $1.value ? nil : FieldName(unchecked: $1.key)
            }
        }
        let entry = LogEntry(
            position: Revision(position), collection: layout.id, id: key.id, kind: after == nil ? .remove : .put,
            time: time, previousRevision: before?.revision, previousScopeValues: scope, changedFields: changed)
        let previous = scope.isEmpty ? nil : try EncodedValue.encode(.dictionary(scope))
        entries.append(.log(LogRow(entry: entry, collection: layout.number, previous: previous)))
    }

    mutating func remember(_ client: PushClient, _ outcome: PushOutcome) {
        entries.append(.client(client.id, before: clients[client.id]))
        clients[client.id] = client
        let key = OutcomeKey(client: outcome.client, sequence: outcome.sequence)
        entries.append(.outcome(outcome, before: outcomes[key]))
        outcomes[key] = outcome
    }

    mutating func keep(_ copy: LosingCopy) throws {
        let content = try EncodedValue.encode(.dictionary(copy.content))
        kept += 1
        entries.append(.kept(KeptRow(number: kept, position: position, copy: copy, content: content)))
    }

    mutating func retire(_ key: RowKey, by author: String) {
        entries.append(.retired(key, before: retired[key]))
        retired[key] = author
    }

    mutating func note(lastKey: Int64, of collection: Int64) {
        entries.append(.lastKey(collection, before: lastKeys[collection]))
        lastKeys[collection] = lastKey
    }

    /// Notes clients that a statement of its own removes. To be called after everything is written.
    mutating func forget(_ clients: [ClientID]) {
        for id in clients {
            entries.append(.client(id, before: self.clients[id]))
            self.clients[id] = .some(nil)
        }
        for (key, outcome) in outcomes where clients.contains(key.client) {
            guard let outcome else { continue }
            entries.append(.outcome(outcome, before: .some(outcome)))
            outcomes[key] = .some(nil)
        }
        entries.append(.statement)
        written = entries.count
    }

    /// Goes back. Gives the number of the savepoint to which the database has to go back; nil: none.
    mutating func undo(to mark: Mark) -> Int? {
        while entries.count > mark.count {
            switch entries.removeLast() {
            case .row(_, let key, let before): rows[key] = before
            case .client(let id, let before): clients[id] = before
            case .outcome(let outcome, let before):
                outcomes[OutcomeKey(client: outcome.client, sequence: outcome.sequence)] = before
            case .retired(let key, let before): retired[key] = before
            case .lastKey(let collection, let before): lastKeys[collection] = before
            case .log, .kept, .statement: break
            }
        }
        (position, kept, adapters) = (mark.position, mark.kept, mark.adapters)
        guard written > mark.count else { return nil }
        // The first savepoint whose writing went beyond the mark.
        let ends = savepoints.dropFirst() + [written]
        guard let number = zip(savepoints.indices, ends).first(where: { $0.1 > mark.count })?.0 else { return nil }
        written = savepoints[number]
        savepoints.removeSubrange((number + 1)...)
        savepoints.removeLast()
        return number
    }
}

extension ChangeJournal {
    /// The statements that write what is not written: one for each table. `savepoint`: whether more may follow that is
    /// undone; the first statement makes one then.
    mutating func write(now: WireDate, savepoint: Bool) throws -> [SQLFragment] {
        var statements: [SQLFragment] = []
        if savepoint {
            statements.append(SQLFragment("SAVEPOINT s\(savepoints.count)"))
            savepoints.append(written)
        }
        let unwritten = entries[written...]
        written = entries.count
        statements += try recordStatements(unwritten)
        statements += try ledgerStatements(unwritten, now)
        return statements
    }

    private func recordStatements(_ unwritten: ArraySlice<Entry>) throws -> [SQLFragment] {
        var layouts: [Int64: CollectionLayout] = [:]
        var touched: [Int64: [RowKey]] = [:]
        var seen: Set<RowKey> = []
        var log: [LogRow] = []
        for entry in unwritten {
            switch entry {
            case .row(let layout, let key, _):
                layouts[layout.number] = layout
                if seen.insert(key).inserted { touched[layout.number, default: []].append(key) }
            case .log(let row): log.append(row)
            default: break
            }
        }
        var statements: [SQLFragment] = []
        for (number, layout) in layouts.sorted(by: { $0.key < $1.key }) {
            let keys = touched[number] ?? []
            let removed = keys.filter { rows[$0] == .some(.none) }.compactMap { layout.keyValue($0.id) }
            if !removed.isEmpty {
                statements.append(
                    SQLFragment(
                        "DELETE FROM \(layout.table) WHERE \(layout.key.name) = ANY(?)",
                        [.array(layout.keyType, removed)]))
            }
            let records = keys.compactMap { rows[$0] ?? nil }
            if !records.isEmpty { statements.append(try Self.insertion(of: records, into: layout)) }
        }
        if !log.isEmpty { statements.append(Self.insertion(of: log)) }
        return statements
    }

    private static func insertion(of records: [Record], into layout: CollectionLayout) throws -> SQLFragment {
        var arrays = layout.written.map { _ in [SQLValue]() }
        for record in records {
            for (place, value) in try layout.stored(record).enumerated() { arrays[place].append(value) }
        }
        return SQLFragment(
            layout.insertion,
            zip(layout.written, arrays).map { part, values in .array(part.isArray ? .bytes : part.type, values) })
    }

    private static func insertion(of log: [LogRow]) -> SQLFragment {
        SQLFragment(
            """
            INSERT INTO portico_log (position, collection, record, kind, previous, before, changed, time)
            SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .array(.integer, log.map { .integer($0.entry.position.number) }),
                .array(.integer, log.map { .integer($0.collection) }),
                .array(.bytes, log.map { .text($0.entry.id.text) }),
                .array(.integer, log.map { .integer($0.entry.kind == .remove ? LogRows.remove : LogRows.put) }),
                .array(.bytes, log.map { $0.previous.map { .bytes($0) } ?? .null }),
                .array(.integer, log.map { $0.entry.previousRevision.map { .integer($0.number) } ?? .null }),
                .array(
                    .bytes,
                    log.map { row in
                        row.entry.changedFields.map { .text($0.map(\.text).joined(separator: " ")) } ?? .null
                    }),
                .array(.real, log.map { .real($0.entry.time.secondsSinceReferenceDate) }),
            ])
    }

    private func ledgerStatements(_ unwritten: ArraySlice<Entry>, _ now: WireDate) throws -> [SQLFragment] {
        var clientIDs: [ClientID] = []
        var seen: Set<ClientID> = []
        var answers: [PushOutcome] = []
        var copies: [KeptRow] = []
        var gone: Set<RowKey> = []
        var keys: Set<Int64> = []
        for entry in unwritten {
            switch entry {
            case .client(let id, _): if seen.insert(id).inserted { clientIDs.append(id) }
            case .outcome(let outcome, _): answers.append(outcome)
            case .kept(let row): copies.append(row)
            case .retired(let key, _): gone.insert(key)
            case .lastKey(let collection, _): keys.insert(collection)
            case .row, .log, .statement: break
            }
        }
        var statements: [SQLFragment] = []
        let known = clientIDs.compactMap { clients[$0] ?? nil }
        if !known.isEmpty { statements.append(Self.clients(known)) }
        if !answers.isEmpty { statements.append(try Self.outcomes(answers)) }
        if !copies.isEmpty { statements += Self.copies(copies, now) }
        if !gone.isEmpty { statements.append(retirement(Array(gone))) }
        if !keys.isEmpty { statements.append(keyNumbers(Array(keys))) }
        return statements
    }

    private static func clients(_ clients: [PushClient]) -> SQLFragment {
        SQLFragment(
            """
            INSERT INTO portico_client (client, identity, sequence, time) SELECT * FROM unnest(?, ?, ?, ?)
            ON CONFLICT (client) DO UPDATE SET sequence = excluded.sequence, time = excluded.time
            """,
            [
                .array(.bytes, clients.map { .text($0.id.text) }), .array(.bytes, clients.map { .text($0.identity) }),
                .array(.integer, clients.map { .integer($0.lastSequence) }),
                .array(.real, clients.map { .real($0.time.secondsSinceReferenceDate) }),
            ])
    }

    private static func outcomes(_ outcomes: [PushOutcome]) throws -> SQLFragment {
        SQLFragment(
            "INSERT INTO portico_outcome (client, sequence, content, position) SELECT * FROM unnest(?, ?, ?, ?)",
            [
                .array(.bytes, outcomes.map { .text($0.client.text) }),
                .array(.integer, outcomes.map { .integer($0.sequence) }),
                .array(.bytes, try outcomes.map { .bytes(try EncodedValue.encode(.dictionary($0.content))) }),
                .array(.integer, outcomes.map { .integer($0.position.number) }),
            ])
    }

    private static func copies(_ rows: [KeptRow], _ now: WireDate) -> [SQLFragment] {
        func texts(_ text: (LosingCopy) -> String) -> SQLValue { .array(.bytes, rows.map { .text(text($0.copy)) }) }
        let insertion = SQLFragment(
            """
            INSERT INTO portico_kept
                (number, adapter, entity, record, reason, author, client, sequence, content, position, time)
            SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .array(.integer, rows.map { .integer($0.number) }), texts { $0.collection.adapter.text },
                texts { $0.collection.entity.text }, texts { $0.id.text }, texts { $0.reason.rawValue },
                texts { $0.author }, texts { $0.client.text },
                .array(.integer, rows.map { .integer($0.copy.sequence) }),
                .array(.bytes, rows.map { .bytes($0.content) }),
                .array(.integer, rows.map { .integer($0.position) }),
                .array(.real, rows.map { _ in .real(now.secondsSinceReferenceDate) }),
            ])
        let authors = Set(rows.filter { $0.number.isMultiple(of: KeptCopiesShare.interval) }.map(\.copy.author))
        return [insertion] + authors.sorted().map { trim($0) }
    }

    /// Removes an author's copies that are beyond the share (``KeptCopiesShare/firstBeyond(_:)``).
    private static func trim(_ author: String) -> SQLFragment {
        SQLFragment(
            """
            DELETE FROM portico_kept WHERE author = ? AND number <= (
                SELECT max(number) FROM (
                    SELECT number, row_number() OVER newest AS place, sum(octet_length(content)) OVER newest AS size
                    FROM portico_kept WHERE author = ? WINDOW newest AS (ORDER BY number DESC)
                ) own WHERE place > \(KeptCopiesShare.copies) OR size > \(KeptCopiesShare.bytes))
            """, [.text(author), .text(author)])
    }

    private func retirement(_ keys: [RowKey]) -> SQLFragment {
        SQLFragment(
            """
            INSERT INTO portico_retired (collection, record, author) SELECT * FROM unnest(?, ?, ?)
            ON CONFLICT (collection, record) DO UPDATE SET author = excluded.author
            """,
            [
                .array(.integer, keys.map { .integer($0.collection) }), .array(.bytes, keys.map { .text($0.id.text) }),
                .array(.bytes, keys.map { .text(retired[$0] ?? "") }),
            ])
    }

    private func keyNumbers(_ collections: [Int64]) -> SQLFragment {
        SQLFragment(
            """
            UPDATE portico_collection c SET last = greatest(c.last, u.last) FROM unnest(?, ?) AS u (number, last)
            WHERE c.number = u.number
            """,
            [
                .array(.integer, collections.map { .integer($0) }),
                .array(.integer, collections.map { .integer(lastKeys[$0] ?? 0) }),
            ])
    }
}
