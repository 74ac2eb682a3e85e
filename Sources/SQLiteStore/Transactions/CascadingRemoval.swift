import AdapterKit
import GRDB
import RecordStorage

/// Deletes a record with everything that belongs to it (``Entity/owners``).
///
/// One transaction deletes at most ``recordsAtOnce`` records, so that other writers do not wait for long. Where there
/// are more, the rest goes with the next upkeep (``resume()``). Until then no caller reads it, because the record through
/// which it was read is gone, and no caller can create that one again (``RecordStepWriter``).
struct CascadingRemoval {
    static let recordsAtOnce = 10_000
    /// Rows that are read together.
    private static let page = 500

    let database: Database
    let catalogue: LayoutCatalogue
    /// The caller that may use the ids again; empty: none.
    let author: String
    /// On whose behalf; nil for what was begun before.
    var step: WriteTransaction.Step?

    /// The effects in the order of the log: what belongs to a record goes before it, so that a caller that could read it
    /// gets its removal.
    func remove(_ root: StoredRow, in layout: CollectionLayout) throws -> [RecordStepWriter.Effect] {
        var effects = [try remove(root, layout)]
        try removeOwned(by: &effects, from: 0)
        return effects.reversed()
    }

    /// The rest of one deletion, or a part of it; nil where none is left.
    func resume() throws -> [RecordStepWriter.Effect]? {
        let unfinished = try UnfinishedRemovals(database: database).next(Self.page, of: catalogue.numbers)
        guard !unfinished.isEmpty else { return nil }
        var effects: [RecordStepWriter.Effect] = []
        for (number, record) in unfinished {
            try UnfinishedRemovals(database: database).remove(record, number)
            guard let layout = catalogue.layout(number: number), try !isThere(record, layout) else { continue }
            try removeOwned(by: record, in: layout, &effects)
        }
        try removeOwned(by: &effects, from: 0)
        return effects.reversed()
    }

    /// Goes through the deleted records one after the other, so that a long chain of records needs no stack.
    private func removeOwned(by effects: inout [RecordStepWriter.Effect], from first: Int) throws {
        var next = first
        while next < effects.count {
            let parent = effects[next]
            try removeOwned(by: parent.id, in: parent.layout, &effects)
            next += 1
        }
    }

    private func removeOwned(
        by id: RecordID, in layout: CollectionLayout, _ effects: inout [RecordStepWriter.Effect]
    ) throws {
        for reference in catalogue.references(to: layout.id) where reference.isOwned {
            while true {
                let room = Self.recordsAtOnce - effects.count
                guard room > 0 else {
                    // What is further down is not looked at before it goes.
                    if let step, !step.kept.isEmpty {
                        throw PorticoError(
                            .requestLimitExceeded, "Too many records would go with this one: delete those first.")
                    }
                    if try reference.isMade(to: id, of: layout, on: database) {
                        try UnfinishedRemovals(database: database).add(id, layout.number)
                    }
                    break
                }
                let rows = try reference.rows(to: id, of: layout, limit: min(room, Self.page), on: database)
                if rows.isEmpty { break }
                try step?.checkRemoval(with: reference.layout.id.entity)
                for row in rows { effects.append(try remove(row, reference.layout)) }
            }
        }
    }

    private func remove(_ found: StoredRow, _ layout: CollectionLayout) throws -> RecordStepWriter.Effect {
        try StoredRowWriter(layout: layout, database: database).delete(found)
        try RetiredIDs(database: database).add(found.record.id, in: layout, by: author)
        return RecordStepWriter.Effect(layout: layout, id: found.record.id, before: found.record, after: nil)
    }

    private func isThere(_ id: RecordID, _ layout: CollectionLayout) throws -> Bool {
        guard let key = layout.keyCondition(id) else { return false }
        return try database.hasRow(SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(key.sql)", key.values))
    }
}

extension LayoutCatalogue.Reference {
    /// Records that refer to that one.
    fileprivate func rows(
        to id: RecordID, of parent: CollectionLayout, limit: Int, on database: Database
    ) throws -> [StoredRow] {
        guard let condition = condition(id, parent) else { return [] }
        return try database.rows(
            SQLFragment("\(layout.selection) WHERE \(condition.sql) LIMIT \(limit)", condition.values),
            layout.storedRow)
    }

    func isMade(to id: RecordID, of parent: CollectionLayout, on database: Database) throws -> Bool {
        guard let condition = condition(id, parent) else { return false }
        return try database.hasRow(
            SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(condition.sql)", condition.values))
    }

    private func condition(_ id: RecordID, _ parent: CollectionLayout) -> SQLFragment? {
        guard let key = parent.rules.keyValue(of: id), case .scalar(let kind) = column.kind,
            let value = kind.comparable(key)
        else { return nil }
        return SQLFragment("\(column.comparisonName) = ?", [value])
    }
}

/// The ids of deleted records, kept for good. Only of collections whose records may be private and whose ids callers
/// choose: everywhere else an id says nothing about whose record it was.
struct RetiredIDs {
    let database: Database

    func add(_ id: RecordID, in layout: CollectionLayout, by author: String) throws {
        guard layout.entity.hasPrivateRows, layout.entity.key.chooser != .server else { return }
        try database.run(
            """
            INSERT INTO portico_retired (collection, record, author) VALUES (?, ?, ?)
            ON CONFLICT (collection, record) DO UPDATE SET author = excluded.author
            """, [.integer(layout.number), .text(id.text), .text(author)])
    }

    /// The caller that deleted the record; empty: no caller who could create it again. Nil: there was none.
    func author(of id: RecordID, in layout: CollectionLayout) throws -> String? {
        guard layout.entity.hasPrivateRows else { return nil }
        return try database.row(
            "SELECT author FROM portico_retired WHERE collection = ? AND record = ?",
            [.integer(layout.number), .text(id.text)]
        ) { $0.text(0) }
    }
}

/// Deleted records whose own records are not all deleted yet.
private struct UnfinishedRemovals {
    let database: Database

    func add(_ id: RecordID, _ collection: Int64) throws {
        try database.run(
            "INSERT OR IGNORE INTO portico_unfinished_removal (collection, record) VALUES (?, ?)",
            [.integer(collection), .text(id.text)])
    }

    func remove(_ id: RecordID, _ collection: Int64) throws {
        try database.run(
            "DELETE FROM portico_unfinished_removal WHERE collection = ? AND record = ?",
            [.integer(collection), .text(id.text)])
    }

    /// The next records of these collections: those of adapters that are not installed wait for them.
    func next(_ count: Int, of collections: [Int64]) throws -> [(Int64, RecordID)] {
        let installed = collections.map(String.init).joined(separator: ", ")
        return try database.rows(
            SQLFragment(
                """
                SELECT collection, record FROM portico_unfinished_removal WHERE collection IN (\(installed))
                LIMIT \(count)
                """)
        ) { ($0.integer(0), RecordID(unchecked: $0.text(1))) }
    }
}
