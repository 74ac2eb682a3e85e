import AdapterKit
import GRDB
import RecordStorage
import Synchronization

/// The parts of the store that a replacement uses.
struct StoreParts: Sendable {
    let writer: Writer
    let readers: ReaderPool
}

/// A snapshot that gathers in tables beside the collection's own.
///
/// A row is compared when it comes. One that differs is written to a table of the collection's own layout; of the others
/// only the number of the record's row is kept. So a refresh that changes little writes little, and the first one writes
/// each row once. Few changes are then made in the collection's tables; many take effect by exchanging the tables, after
/// the rows that stay were copied between other callers' commits.
final class TableReplacement: RecordReplacement {
    /// Rows of one transaction: some milliseconds.
    static let rowsAtOnce = 500

    let start: Revision
    private let tables: StagingTables
    private let parts: StoreParts
    /// Whether there was no record at the beginning, so that there is none to compare with.
    private let isEmpty: Bool
    private let counts = Mutex(ReplacementDifference())

    init(tables: StagingTables, parts: StoreParts, start: Revision, isEmpty: Bool) {
        self.tables = tables
        self.parts = parts
        self.start = start
        self.isEmpty = isEmpty
    }

    static func begin(of layout: CollectionLayout, in parts: StoreParts) async throws -> TableReplacement {
        try await StagingTables.removeLeftovers(of: layout, in: parts)
        let (tables, start, isEmpty) = try await parts.writer.write(weight: 1) { changes in
            let tables = try StagingTables(for: layout, on: changes.database)
            try tables.create(on: changes.database)
            let isEmpty = try !changes.database.hasRow(SQLFragment("SELECT 1 FROM \(layout.table) LIMIT 1"))
            return (tables, Revision(changes.revision), isEmpty)
        }
        return TableReplacement(tables: tables, parts: parts, start: start, isEmpty: isEmpty)
    }

    func stage(_ rows: [RecordDraft], keeping: [RecordID], _ fields: StagedFields) async throws {
        var rest = rows[...]
        var kept = keeping
        repeat {
            let piece = Array(rest.prefix(Self.rowsAtOnce))
            rest = rest.dropFirst(piece.count)
            let keeping = kept
            kept = []
            let (tables, start, isEmpty) = (tables, start, isEmpty)
            let found = try await parts.writer.write(weight: max(1, piece.count)) { changes in
                try changes.undoing {
                    var staging = RowStaging(
                        tables: tables, database: changes.database, start: start, time: changes.now, isEmpty: isEmpty)
                    for row in piece { try staging.stage(row, fields) }
                    for id in keeping { try staging.keep(id) }
                    return staging.counts
                }
            }
            counts.withLock {
                $0.created += found.created
                $0.updated += found.updated
                $0.extended += found.extended
                $0.repeated += found.repeated
            }
        } while !rest.isEmpty
    }

    func difference() async throws -> ReplacementDifference {
        var difference = counts.withLock { $0 }
        let (tables, start) = (tables, start)
        (difference.known, difference.deleted) = try await parts.readers.read { database in
            let known = "SELECT count(*) FROM \(tables.layout.table)"
            return (
                Int(try database.row(known) { $0.integer(0) } ?? 0),
                Int(try database.rows(tables.missing(since: start, select: "count(*)")) { $0.integer(0) }.first ?? 0)
            )
        }
        return difference
    }

    func sample(_ limit: Int, _ options: ReplacementOptions) async throws -> ReplacementSample {
        let (tables, start) = (tables, start)
        return try await parts.readers.read { database in
            var sample = ReplacementSample()
            let known = "IN (SELECT \(tables.layout.key.name) FROM \(tables.layout.table))"
            func staged(_ condition: String) throws -> [Record] {
                try database.rows(
                    SQLFragment(
                        "\(tables.staged.selection) WHERE \(tables.staged.key.name) \(condition) LIMIT \(limit)"),
                    tables.staged.record)
            }
            sample.created = try staged("NOT \(known)")
            for after in try staged(known) {
                guard let before = try tables.record(after.id, in: tables.layout, on: database) else { continue }
                sample.updated.append(.init(before: before.record, after: after))
            }
            for id in options.removing.sorted(by: { $0.text < $1.text }).prefix(limit) {
                if let row = try tables.record(id, in: tables.layout, on: database) {
                    sample.deleted.append(row.record)
                }
            }
            if options.deletesMissing {
                sample.deleted += try database.rows(
                    tables.missing(since: start, limit: limit), tables.layout.storedRow
                ).map(\.record)
            }
            return sample
        }
    }

    func apply(_ options: ReplacementOptions) async throws -> ReplacementResult {
        var expected = try await difference()
        if !options.deletesMissing { expected.deleted = options.removing.count }
        let isWhole = expected.changes > options.transactionLimit
        let result = try await isWhole ? exchange(options) : change(options, weight: expected.changes)
        try await discard()
        return result
    }

    func discard() async throws { try await StagingTables.removeLeftovers(of: tables.layout, in: parts) }

    private func change(_ options: ReplacementOptions, weight: Int) async throws -> ReplacementResult {
        let known = try await difference()
        let (tables, start) = (tables, start)
        return try await parts.writer.write(weight: max(1, weight)) { changes in
            try changes.undoing {
                try tables.checkLayout(in: changes.catalogue)
                let change = try ReplacementChange(tables, changes, options, since: start, known)
                return try change.oneByOne()
            }
        }
    }

    private func exchange(_ options: ReplacementOptions) async throws -> ReplacementResult {
        try await copyUnchanged(keepsMissing: !options.deletesMissing)
        let known = try await difference()
        let (tables, start) = (tables, start)
        return try await parts.writer.write(weight: Self.rowsAtOnce) { changes in
            try changes.undoing {
                try tables.checkLayout(in: changes.catalogue)
                let change = try ReplacementChange(tables, changes, options, since: start, known)
                return try change.asAWhole()
            }
        }
    }

    /// Between other callers' commits. What those change meanwhile is made up for in the exchange.
    private func copyUnchanged(keepsMissing: Bool) async throws {
        let (tables, start) = (tables, start)
        var last = Int64.min
        while true {
            try Task.checkCancellation()
            let after = last
            let copied = try await parts.writer.write(weight: Self.rowsAtOnce) { changes in
                try changes.undoing {
                    let rows = try changes.database.rows(
                        tables.unchanged(after: after, since: start, orMissing: keepsMissing, limit: Self.rowsAtOnce),
                        tables.layout.storedRow)
                    let writer = StoredRowWriter(layout: tables.staged, database: changes.database)
                    for row in rows { _ = try writer.insert(row.record) }
                    return rows.last?.row
                }
            }
            guard let copied else { return }
            last = copied
        }
    }
}

/// One piece of a snapshot, within a transaction.
private struct RowStaging {
    let tables: StagingTables
    let database: Database
    let start: Revision
    let time: WireDate
    let isEmpty: Bool
    var counts = ReplacementDifference()

    init(tables: StagingTables, database: Database, start: Revision, time: WireDate, isEmpty: Bool) {
        self.tables = tables
        self.database = database
        self.start = start
        self.time = time
        self.isEmpty = isEmpty
    }

    mutating func stage(_ row: RecordDraft, _ fields: StagedFields) throws {
        guard let id = row.id else { return }
        guard let found = try isEmpty ? nil : tables.record(id, in: tables.layout, on: database) else {
            guard try tables.record(id, in: tables.staged, on: database) == nil else {
                counts.repeated += 1
                return
            }
            counts.created += 1
            return try insert(id, tables.layout.entity.completing(row))
        }
        let merged = tables.layout.entity.merging(row, into: found.record, at: time, fields)
        guard try mark(found, isChanged: merged != nil) else {
            counts.repeated += 1
            return
        }
        // Others have changed it since; their change stays.
        guard found.record.revision <= start, let merged else { return }
        counts.updated += 1
        if merged.isExtended { counts.extended += 1 }
        try insert(id, merged.fields)
    }

    mutating func keep(_ id: RecordID) throws {
        guard let found = try tables.record(id, in: tables.layout, on: database) else { return }
        _ = try mark(found, isChanged: false)
    }

    private func insert(_ id: RecordID, _ fields: WireDictionary) throws {
        // The revision is larger than all of before, and no record that others change gets it in this collection.
        let record = Record(id: id, revision: Revision(start.number + 1), fields: fields)
        _ = try StoredRowWriter(layout: tables.staged, database: database).insert(record)
    }

    /// False where the snapshot has had the record already.
    private func mark(_ found: StoredRow, isChanged: Bool) throws -> Bool {
        try database.run(
            "INSERT OR IGNORE INTO \(tables.seen) (row, changed) VALUES (?, ?)",
            [.integer(found.row), .integer(isChanged ? 1 : 0)])
        return database.changesCount > 0
    }
}
