import AdapterKit
import GRDB
import RecordStorage
import Synchronization

/// The log's rows. An entry of kind `remove` is the record's tombstone; there is no other.
enum OperationLog {
    /// An entry's statement; what ``append(_:at:_:in:on:by:)`` runs.
    static let insertion = """
        INSERT INTO portico_log (position, collection, record, kind, previous, before, changed, time)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """
    private static let put: Int64 = 0
    private static let remove: Int64 = 1
    private static let replaceAll: Int64 = 2

    static func appendReplacement(
        at position: Int64, _ time: WireDate, of layout: CollectionLayout, on database: Database
    ) throws {
        try database.run(
            "INSERT INTO portico_log (position, collection, record, kind, time) VALUES (?, ?, '', ?, ?)",
            [
                .integer(position), .integer(layout.number), .integer(replaceAll),
                .real(time.secondsSinceReferenceDate),
            ])
        try database.run(
            "UPDATE portico_collection SET replaced = ? WHERE number = ?",
            [.integer(position), .integer(layout.number)])
    }

    static func append(
        _ effect: RecordStepWriter.Effect, at position: Int64, _ time: WireDate, in layout: CollectionLayout,
        on database: Database, by statement: Statement? = nil
    ) throws {
        var scope = WireDictionary()
        if let before = effect.before {
            for field in layout.scopeFields { scope[field.text] = before[field] }
        }
        let previous: SQLValue = scope.isEmpty ? .null : .blob(try EncodedValue.encode(.dictionary(scope)))
        try database.run(
            try statement ?? database.cachedStatement(sql: insertion),
            [
                .integer(position), .integer(layout.number), .text(effect.id.text),
                .integer(effect.after == nil ? remove : put), previous,
                effect.before.map { .integer($0.revision.number) } ?? .null,
                effect.changedFields.map { .text($0.map(\.text).joined(separator: " ")) } ?? .null,
                .real(time.secondsSinceReferenceDate),
            ])
    }

    /// Entries of collections that are not installed are left out: no caller could read their records.
    static func entries(after position: Revision, limit: Int, on database: Database) throws -> [LogEntry] {
        let floor = try LogFloor.read(database)
        guard position >= floor else { throw PorticoError.belowFloor(floor) }
        let statement = SQLFragment(
            "\(selection) WHERE l.position > ? ORDER BY l.position LIMIT ?",
            [.integer(position.number), .integer(Int64(limit))])
        return try database.rows(statement, entry)
    }

    static func history(
        of id: RecordID, in layout: CollectionLayout, limit: Int, on database: Database
    ) throws -> [LogEntry] {
        let statement = SQLFragment(
            """
            \(selection) WHERE l.collection = ? AND l.record = ? AND l.position > ?
            ORDER BY l.position DESC LIMIT ?
            """,
            [
                .integer(layout.number), .text(id.text), .integer(try LogFloor.read(database).number),
                .integer(Int64(limit)),
            ])
        return try database.rows(statement, entry)
    }

    private static let selection = """
        SELECT l.position, c.adapter, c.entity, l.record, l.kind, l.previous, l.before, l.changed, l.time
        FROM portico_log l JOIN portico_collection c ON c.number = l.collection
        """

    private static func kind(_ number: Int64) -> LogEntry.Kind {
        switch number {
        case remove: .remove
        case replaceAll: .replaceAll
        default: .put
        }
    }

    private static func entry(_ row: RowReader) throws -> LogEntry {
        let previous = row.isNull(5) ? nil : try EncodedValue.decode(row.blob(5)).dictionaryValue
        return LogEntry(
            position: Revision(row.integer(0)),
            collection: CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2))),
            id: RecordID(unchecked: row.text(3)), kind: kind(row.integer(4)),
            time: WireDate(secondsSinceReferenceDate: row.real(8)),
            previousRevision: row.isNull(6) ? nil : Revision(row.integer(6)), previousScopeValues: previous ?? [:],
            changedFields: row.isNull(7) ? nil : row.text(7).split(separator: " ").map { FieldName(unchecked: "\($0)") }
        )
    }
}

extension RecordStepWriter.Effect {
    /// Nil where the record came or went.
    fileprivate var changedFields: [FieldName]? {
        guard let before, let after else { return nil }
        return zip(before.fields, after.fields).compactMap { $0.value == $1.value ? nil : FieldName(unchecked: $1.key) }
    }
}

/// Removes the log's beginning, between other writers' commits.
struct LogCompaction {
    let readers: ReaderPool
    let writer: Writer
    let positions: LogPositions
    /// Rows that go in one transaction: some milliseconds.
    static let rowsAtOnce = 2000

    func run(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        if dryRun { return try await readers.read { try Self.estimate(bound, $0) } }
        let floor = try await readers.read { try LogFloor.target(of: bound, on: $0) }
        let positions = positions
        try await writer.run { database in
            try LogFloor.raise(to: floor, on: database)
            positions.raise(floor: floor.number)
        }
        let entries = try await remove(Self.entries, upTo: floor)
        return Compaction(floor: floor, entries: entries, outcomes: try await remove(Self.outcomes, upTo: floor))
    }

    private func remove(_ rows: Rows, upTo floor: Revision) async throws -> Int {
        var removed = 0
        while true {
            try Task.checkCancellation()
            let count = try await writer.run { database in
                try database.run(rows.deletion, [.integer(floor.number), .integer(Int64(Self.rowsAtOnce))])
                return database.changesCount
            }
            if count == 0 { return removed }
            removed += count
        }
    }

    private static func estimate(_ bound: CompactionBound, _ database: Database) throws -> Compaction {
        let floor = try LogFloor.target(of: bound, on: database)
        func count(_ rows: Rows) throws -> Int {
            Int(try database.row(rows.count, [.integer(floor.number)]) { $0.integer(0) } ?? 0)
        }
        return Compaction(floor: floor, entries: try count(entries), outcomes: try count(outcomes))
    }

    private struct Rows {
        let table: String
        let condition: String
        var count: String { "SELECT count(*) FROM \(table) WHERE \(condition)" }
        var deletion: String {
            "DELETE FROM \(table) WHERE rowid IN (SELECT rowid FROM \(table) WHERE \(condition) LIMIT ?)"
        }
    }

    private static let entries = Rows(table: "portico_log", condition: "position <= ?")
    private static let outcomes = Rows(
        table: "portico_outcome",
        condition: """
            position <= ? AND sequence < (SELECT sequence FROM portico_client c WHERE c.client = portico_outcome.client)
            """)
}

/// Where the log begins. Rises in a transaction of its own before anything is removed, so that the log has no gap
/// above the floor that a caller has read.
enum LogFloor {
    static func read(_ database: Database) throws -> Revision {
        Revision(try database.row("SELECT floor FROM portico_floor") { $0.integer(0) } ?? 0)
    }

    static func raise(to floor: Revision, on database: Database) throws {
        try database.run("UPDATE portico_floor SET floor = max(floor, ?)", [.integer(floor.number)])
    }

    /// The floor as it would be.
    static func target(of bound: CompactionBound, on database: Database) throws -> Revision {
        let last = Revision(try StoredPositions.last(on: database))
        switch bound {
        case .through(let position): return max(try read(database), min(position, last))
        case .before(let time):
            let kept = try database.row(
                "SELECT position FROM portico_log WHERE time >= ? ORDER BY position LIMIT 1",
                [.real(time.secondsSinceReferenceDate)]
            ) { Revision($0.integer(0) - 1) }
            return max(try read(database), kept ?? last)
        }
    }
}

/// The last durable operation ids, of the store and of each adapter, and where the log begins. Moved by the writer only,
/// after a commit; asked by everyone, on every request.
final class LogPositions: Sendable {
    private let store: Atomic<Int64>
    private let lowest: Atomic<Int64>
    private let adapters: Mutex<[AdapterName: Int64]>
    let observers = CommitObservers()

    init(last: Int64, floor: Int64, adapters: [AdapterName: Int64]) {
        store = Atomic(last)
        lowest = Atomic(floor)
        self.adapters = Mutex(adapters)
    }

    var last: Int64 { store.load(ordering: .acquiring) }

    var floor: Int64 { lowest.load(ordering: .acquiring) }

    func last(of adapter: AdapterName) -> Int64 {
        adapters.withLock { $0[adapter] ?? 0 }
    }

    var allAdapters: [AdapterName: Int64] { adapters.withLock { $0 } }

    func advance(to position: Int64, adapters touched: [AdapterName: Int64]) {
        adapters.withLock { $0.merge(touched) { max($0, $1) } }
        let before = store.exchange(position, ordering: .acquiringAndReleasing)
        guard position > before else { return }
        observers.notify(Revision(position))
    }

    func raise(floor: Int64) {
        lowest.store(floor, ordering: .releasing)
    }
}

/// The last operation ids as the file remembers them: of each adapter, and of all together even where the log has been
/// compacted to nothing.
enum StoredPositions {
    static func set(_ position: Int64, of adapter: AdapterName, on database: Database) throws {
        try database.run(
            """
            INSERT INTO portico_position (adapter, position) VALUES (?, ?)
            ON CONFLICT (adapter) DO UPDATE SET position = excluded.position
            """, [.text(adapter.text), .integer(position)])
    }

    static func last(on database: Database) throws -> Int64 {
        let newest = "SELECT max(position) AS position FROM portico_"
        return try database.row("SELECT max(position) FROM (\(newest)log UNION ALL \(newest)position)") {
            $0.integer(0)
        } ?? 0
    }

    static func all(on database: Database) throws -> LogPositions {
        let rows = try database.rows(SQLFragment("SELECT adapter, position FROM portico_position")) {
            (AdapterName(unchecked: $0.text(0)), $0.integer(1))
        }
        return LogPositions(
            last: try last(on: database), floor: try LogFloor.read(database).number,
            adapters: Dictionary(rows, uniquingKeysWith: { $1 }))
    }
}
