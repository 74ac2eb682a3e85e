import AdapterKit
import GRDB
import RecordStorage

/// One change of one record: what must hold, then the rows.
struct StepChange {
    let step: WriteTransaction.Step
    let layout: CollectionLayout
    let database: Database
    let catalogue: LayoutCatalogue
    let ids: any RecordIDSource
    let authorship: Authorship
    /// What the record gets.
    let revision: Revision

    /// What became of a record.
    struct Effect {
        let layout: CollectionLayout
        let id: RecordID
        let before: Record?
        let after: Record?
    }

    /// In the order in which the log tells them. The last one is the step's own; a deletion's are preceded by those of
    /// the records that go with it.
    func perform() throws -> [Effect] {
        switch step.change.action {
        case .create(let id, let fields): [try create(id, fields)]
        case .update(let id, let fields):
            [try change(try existing(id)) { try layout.rules.update($0, fields, authorship) }]
        case .replace(let id, let fields, let orCreate): [try replace(id, fields, orCreate: orCreate)]
        case .delete(let id):
            try CascadingRemoval(
                database: database, catalogue: catalogue, author: step.isForCaller ? authorship.author : ""
            ).remove(try existing(id), in: layout)
        }
    }

    private func create(_ id: RecordID?, _ fields: WireDictionary) throws -> Effect {
        var draft = try layout.rules.create(id, fields, authorship)
        if draft.id == nil { draft = draft.assigning(try freshID(), by: layout.rules) }
        guard let id = draft.id else { throw Self.noKey }
        try checkAbsent()
        if try isStored(id) || isReserved(id) {
            if case .absent = step.change.condition { throw Self.unmet }
            throw PorticoError(.recordExists, "There is a record `\(id)` already.", target: layout.key.field.name.text)
        }
        let record = Record(id: id, revision: revision, fields: draft.fields)
        let row = try RowWriter(layout: layout, database: database).insert(record)
        try checkResult(row)
        return Effect(layout: layout, id: id, before: nil, after: record)
    }

    private func replace(_ id: RecordID, _ fields: WireDictionary, orCreate: Bool) throws -> Effect {
        let canCreate = orCreate && layout.entity.key.chooser != .server
        if canCreate, try stored(id).map({ try !holds(step.visible, for: $0.row) }) ?? true {
            return try create(id, fields)
        }
        return try change(try existing(id)) { try layout.rules.replace($0, fields, authorship) }
    }

    private func change(_ found: StoredRow, _ draft: (Record) throws -> RecordDraft) throws -> Effect {
        let record = Record(id: found.record.id, revision: revision, fields: try draft(found.record).fields)
        try RowWriter(layout: layout, database: database).update(found, to: record)
        try checkResult(found.row)
        return Effect(layout: layout, id: record.id, before: found.record, after: record)
    }

}

extension StepChange {
    private func stored(_ id: RecordID) throws -> StoredRow? {
        guard let key = layout.keyCondition(id) else { return nil }
        return try database.rows(
            SQLFragment("\(layout.selection) WHERE \(key.sql)", key.values), layout.storedRow
        ).first
    }

    private func isStored(_ id: RecordID) throws -> Bool {
        guard let key = layout.keyCondition(id) else { return false }
        return try database.hasRow(SQLFragment("SELECT 1 FROM \(layout.table) WHERE \(key.sql)", key.values))
    }

    /// The record to change: there, visible, writable, and as the change expects it, asked in this order.
    private func existing(_ id: RecordID) throws -> StoredRow {
        guard let found = try stored(id), try holds(step.visible, for: found.row) else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        guard try holds(step.writableBefore, for: found.row) else { throw Self.denied }
        switch step.change.condition {
        case .none, .exists: return found
        case .revision(let expected) where expected == found.record.revision: return found
        case .revision, .absent: throw Self.unmet
        }
    }

    /// Whether a caller is told that the id is taken although no record has it: it was another's before, or records
    /// refer to it still, which would become readable through the new one.
    private func isReserved(_ id: RecordID) throws -> Bool {
        guard step.isForCaller else { return false }
        let retired = try RetiredIDs(database: database).author(of: id, in: layout)
        if let retired, retired.isEmpty || !retired.hasSameBytes(as: authorship.author) { return true }
        return try catalogue.references(to: layout.id).contains { try $0.isMade(to: id, of: layout, on: database) }
    }

    private func checkAbsent() throws {
        switch step.change.condition {
        case .none, .absent: return
        case .exists, .revision: throw Self.unmet
        }
    }

    private func checkResult(_ row: Int64) throws {
        guard try holds(step.writableAfter, for: row) else { throw Self.denied }
    }

    private func holds(_ filter: Filter?, for row: Int64) throws -> Bool {
        guard let filter else { return true }
        let condition = try FilterCompiler(catalogue: catalogue).condition(filter, in: layout)
        return try database.hasRow(
            SQLFragment(
                "SELECT 1 FROM \(layout.table) WHERE \(layout.rowColumn) = ? AND \(condition.sql)",
                [.integer(row)] + condition.values))
    }

    /// Integer keys go on from the largest that was ever there, so that none is given twice.
    private func freshID() throws -> RecordID {
        guard layout.hasIntegerKey else { return ids.next() }
        let last = try database.row(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", [.text(layout.names.main)]
        ) { $0.integer(0) }
        let (next, overflow) = (last ?? 0).addingReportingOverflow(1)
        guard !overflow, layout.rules.keyValue(of: RecordID(unchecked: String(next))) != nil else {
            throw Self.noKey
        }
        return RecordID(unchecked: String(next))
    }

    private static let denied = PorticoError(.accessDenied, "You may not change this record so.")
    private static let unmet = PorticoError(.preconditionFailed, "The record is not as the change expects it.")
    private static let noKey = PorticoError(.serverInternal, "There is no key left for a new record.")
}
