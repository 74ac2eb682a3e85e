import AdapterKit

/// One adapter's view of a store at one moment, bound by the same row rules as ``AdapterRecords``.
struct AdapterSnapshot: RecordSnapshot {
    let snapshot: any StoreSnapshot
    let declaration: AdapterDeclaration
    /// Nil: the adapter itself.
    let principal: Principal?
    let epoch: Epoch

    var position: Revision { snapshot.position }

    func checkCancellation() throws { try snapshot.checkCancellation() }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        return try snapshot.record(id, in: scope.collection, visible: scope.visible)
    }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        try query.checkSize()
        var narrowed = query
        narrowed.filter = try scope.narrowing(query.filter)
        return try snapshot.query(narrowed, in: scope.collection)
    }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int {
        let scope = try EntityScope(reading: entity, of: declaration, for: principal)
        return try snapshot.count(try scope.narrowing(filter), in: scope.collection)
    }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        try snapshot.rows(relation, seen: VisibleRows(of: declaration, for: principal), receive)
    }

    func mark(of entities: [EntityName]) throws -> ChangeCursor {
        try ChangeFeedReader(entities, of: declaration, for: principal, epoch: epoch, at: snapshot).mark
    }

    func news(of entities: [EntityName], since mark: ChangeCursor, limit: Int) throws -> ChangedRecordPage {
        try ChangeFeedReader(entities, of: declaration, for: principal, epoch: epoch, at: snapshot)
            .page(since: mark, limit: limit)
    }
}
