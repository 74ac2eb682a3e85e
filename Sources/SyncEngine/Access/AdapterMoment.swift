import AdapterKit

/// One adapter's view of a store at one moment, bound by the same row rules as ``AdapterRecords``.
struct AdapterMoment: RecordMoment {
    let moment: any StoreMoment
    let declaration: AdapterDeclaration
    /// Nil: the adapter itself.
    let principal: Principal?
    let epoch: Epoch

    var position: Revision { moment.position }

    func checkCancellation() throws { try moment.checkCancellation() }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        return try moment.record(id, in: scope.collection, visible: scope.visible)
    }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        try query.checkSize()
        var narrowed = query
        narrowed.filter = try scope.narrowing(query.filter)
        return try moment.query(narrowed, in: scope.collection)
    }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        return try moment.count(try scope.narrowing(filter), in: scope.collection)
    }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        try moment.rows(relation, seen: VisibleRows(of: declaration, for: principal), receive)
    }

    func mark(of entities: [EntityName]) throws -> HistoryMark {
        try NewsReading(entities, of: declaration, for: principal, epoch: epoch, at: moment).mark
    }

    func news(of entities: [EntityName], since mark: HistoryMark, limit: Int) throws -> NewsPage {
        try NewsReading(entities, of: declaration, for: principal, epoch: epoch, at: moment)
            .page(since: mark, limit: limit)
    }
}
