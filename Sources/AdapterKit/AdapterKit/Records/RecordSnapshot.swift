/// An adapter's records at one moment: whatever is read through it belongs together.
///
/// Valid only within the call that hands it out, on that call's thread. What its methods throw is to be passed on
/// unchanged: a store may break a read off and begin it again.
public protocol RecordSnapshot {
    /// The last operation id that is visible.
    var position: Revision { get }

    /// Throws where the read was cancelled: for bodies that do much between two of its other calls, which ask
    /// by themselves.
    func checkCancellation() throws

    /// Nil where there is none that may be seen.
    func record(_ id: RecordID, in entity: EntityName) throws -> Record?

    /// One page of the records that match the query.
    func query(_ query: Query, in entity: EntityName) throws -> RecordPage

    /// The number of records that match the filter; nil counts all.
    func count(_ filter: Filter?, in entity: EntityName) throws -> Int

    /// Gives the relation's rows one after the other, as they are found.
    ///
    /// Throws `request.invalid` for expressions that mean nothing, `request.limitExceeded` beyond ``RelationLimits``, and
    /// what `receive` throws.
    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws

    /// This moment's place in the history of these entities.
    func changeCursor(of entities: [EntityName]) throws -> ChangeCursor

    /// Records of these entities that were changed since a mark of the same entities, and are seen now or were since. At
    /// most `limit`, and fewer where much else was changed in between; costs nothing of records that were not changed.
    ///
    /// Throws `sync.fetchAgain` for a mark of another history, of another asker or of other rules, for one that the log
    /// does not reach back to, and where a change of a group's members opened or closed records.
    func changes(of entities: [EntityName], since cursor: ChangeCursor, limit: Int) throws -> ChangedRecordPage
}

/// The columns of one row, by position. Valid only while it is received.
public protocol RowValues {
    /// The number of columns.
    var count: Int { get }
    /// The value of a column; it is converted with every call.
    subscript(column: Int) -> WireValue { get throws }
    /// The UTF-8 of a text column, without a copy; nil where the column is null or no text.
    func withText<Result>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result?
}

extension RecordSnapshot {
    public func checkCancellation() throws { try Task.checkCancellation() }

    public func changeCursor(of entities: [EntityName]) throws -> ChangeCursor { throw Self.withoutHistory }

    public func changes(of entities: [EntityName], since cursor: ChangeCursor, limit: Int) throws -> ChangedRecordPage {
        throw Self.withoutHistory
    }

    private static var withoutHistory: PorticoError {
        PorticoError(.adapterUnavailable, "This store does not tell what has changed.")
    }

    /// All of the relation's rows.
    public func rows(_ relation: Relation) throws -> [[WireValue]] {
        var rows: [[WireValue]] = []
        try self.rows(relation) { row in
            var values: [WireValue] = []
            values.reserveCapacity(row.count)
            for column in 0..<row.count { values.append(try row[column]) }
            rows.append(values)
        }
        return rows
    }
}
