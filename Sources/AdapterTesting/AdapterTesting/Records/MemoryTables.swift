import AdapterKit

/// All rows of an adapter's entities; a value, so a transaction is a copy that replaces the original when it succeeds.
struct MemoryTables {
    struct Table {
        /// Held apart from the rows: who holds those while they change makes a copy of them all.
        let rules: EntityRules
        var rows: [RecordID: Record] = [:]
        /// The ids of deleted records that may have been private, and who deleted them; nil: the adapter.
        var retired: [RecordID: String?] = [:]

        var entity: Entity { rules.entity }
    }

    var tables: [EntityName: Table]
    var position = Revision(0)
    let recordRules: (any RecordRules)?

    init(_ declaration: AdapterDeclaration) throws(PorticoError) {
        tables = [:]
        recordRules = declaration.rules
        for entity in declaration.entities { tables[entity.name] = Table(rules: try EntityRules(entity)) }
    }

    func table(_ entity: EntityName) throws -> Table {
        guard let table = tables[entity] else {
            throw PorticoError(.serverInternal, "There is no entity \(entity).", target: entity.text)
        }
        return table
    }

    func record(_ id: RecordID, in entity: EntityName, seenBy viewer: Viewer) throws -> Record? {
        let table = try readable(entity, by: viewer)
        guard let record = table.rows[id] else { return nil }
        return try matches(viewer.filter(table.entity.rows.read), record, of: table.entity) ? record : nil
    }

    private func readable(_ entity: EntityName, by viewer: Viewer) throws -> Table {
        let table = try table(entity)
        if case .principal(let principal) = viewer, let readers = table.entity.readers {
            try readers.admit(principal, effect: .reads)
        }
        return table
    }

    /// In no order.
    func matching(_ filter: Filter?, in entity: EntityName, seenBy viewer: Viewer) throws -> [Record] {
        let table = try readable(entity, by: viewer)
        let whole = Filter.both(filter, viewer.filter(table.entity.rows.read))
        if let whole { try FilterMatch(tables: self, entity: table.entity).check(whole) }
        return try table.rows.values.filter { try matches(whole, $0, of: table.entity) }
    }

    func page(_ query: Query, in entity: EntityName, seenBy viewer: Viewer) throws -> RecordPage {
        guard (1...Query.maximumLimit).contains(query.limit) else {
            throw PorticoError(.requestInvalid, "A page has 1 to \(Query.maximumLimit) records.", target: "limit")
        }
        let order = try RecordOrder(query.order, of: try table(entity).entity)
        let matching = try matching(query.filter, in: entity, seenBy: viewer)
        let rest = try Self.rest(of: order.sorted(matching), from: query.start, in: order)
        let records = Array(rest.prefix(query.limit))
        let next = rest.count > records.count ? records.last.map(order.cursor) : nil
        return RecordPage(records: records, next: next, total: query.countsAll ? matching.count : nil)
    }

    private static func rest(
        of records: [Record], from start: Query.Start, in order: RecordOrder
    ) throws -> ArraySlice<Record> {
        switch start {
        case .first: return records[...]
        case .offset(let count): return records.dropFirst(max(0, count))
        case .after(let cursor):
            try order.check(cursor)
            return records.drop { !order.isAfter($0, cursor) }
        }
    }

    func matches(_ filter: Filter?, _ record: Record, of entity: Entity) throws -> Bool {
        guard let filter else { return true }
        return try FilterMatch(tables: self, entity: entity).holds(filter, for: record)
    }
}
