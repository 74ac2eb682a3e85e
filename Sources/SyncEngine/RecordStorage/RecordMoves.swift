import AdapterKit

/// A record of a mirror that got another id: another system chose its key when it was created there.
public struct RecordMove: Sendable, Equatable {
    /// The id that it had before.
    public let from: RecordID
    /// The id that it has.
    public let to: RecordID
    /// Its last revision under the old id; nil: it had none here.
    public let before: Revision?
    /// Its first revision under the new one.
    public let after: Revision

    fileprivate init?(_ record: Record) {
        guard let from = RecordID(key: record[PendingWriteRecords.record]),
            let to = RecordID(key: record[PendingWriteRecords.movedTo]),
            let after = record[PendingWriteRecords.after].int64Value
        else { return nil }
        self.from = from
        self.to = to
        self.after = Revision(after)
        before = record[PendingWriteRecords.before].int64Value.map { Revision($0) }
    }

    fileprivate init(from: RecordID, to: RecordID, before: Revision?, after: Revision) {
        (self.from, self.to, self.before, self.after) = (from, to, before, after)
    }
}

extension PendingWriteRecords {
    fileprivate static func moves(_ field: FieldName, _ id: RecordID, in mirror: CollectionID) -> Query {
        Query(
            .all([isOf(mirror), .compare(field, .equal, .string(id.text))]), order: [SortKey(created)], limit: 10)
    }
}

extension StoreRead {
    /// The reads of a change of a record that another system has: those of its writes and moves.
    package static func pendingWrites(of id: RecordID, in mirror: CollectionID) -> [StoreRead] {
        [
            .query(
                PendingWriteRecords.moves(PendingWriteRecords.record, id, in: mirror), in: PendingWriteRecords.movesID),
            .query(PendingWriteRecords.lastDelivery(of: id, in: mirror), in: PendingWriteRecords.deliveriesID),
            .count(PendingWriteRecords.queued(of: mirror, by: nil), in: PendingWriteRecords.writesID),
        ]
    }
}

extension StoreSnapshot {
    /// Where the record of a mirror went, over all of its moves; nil: it has the id that it had, or it is not known any more.
    public func move(of id: RecordID, in mirror: CollectionID) throws -> RecordMove? {
        var found: RecordMove?
        // A record moves once, when it is created in the other system; a defect there is to loop nowhere.
        for _ in 0..<4 {
            guard let next = try moves(PendingWriteRecords.record, found?.to ?? id, in: mirror).last else { break }
            found = RecordMove(from: id, to: next.to, before: found?.before ?? next.before, after: next.after)
        }
        return found
    }

    /// The ids that a record of a mirror had before.
    public func formerIDs(of id: RecordID, in mirror: CollectionID) throws -> [RecordID] {
        try moves(PendingWriteRecords.movedTo, id, in: mirror).map(\.from)
    }

    private func moves(_ field: FieldName, _ id: RecordID, in mirror: CollectionID) throws -> [RecordMove] {
        let query = PendingWriteRecords.moves(field, id, in: mirror)
        return try self.query(query, in: PendingWriteRecords.movesID).records.compactMap(RecordMove.init)
    }
}

extension StoreTransaction {
    /// Remembers that a record of a mirror has another id.
    public func noteMove(
        of old: RecordID, to new: RecordID, in mirror: CollectionID, before: Revision?, after: Revision
    ) throws {
        let fields: WireDictionary = [
            "collection": .string("\(mirror)"), "record": .string(old.text), "movedTo": .string(new.text),
            "before": before.map { .int64($0.number) } ?? .null, "after": .int64(after.number),
        ]
        try applyOwn(RecordChange(PendingWriteRecords.moves.name, .create(nil, fields)))
    }

    /// Forgets moves that no device needs any more: all that were made before an instant, a few at a time. Whether there are more.
    public func forgetMoves(madeBefore instant: WireDate) throws -> Bool {
        let late = Filter.compare(PendingWriteRecords.created, .less, .date(instant))
        let found = try query(Query(late, limit: 500), in: PendingWriteRecords.movesID).records
        for record in found { try applyOwn(RecordChange(PendingWriteRecords.moves.name, .delete(record.id))) }
        return found.count == 500
    }

    /// Has the writes of a record be those of the id that it has now.
    public func movePendingWrites(of old: RecordID, to new: RecordID, in mirror: CollectionID, key: Field) throws {
        let value = new.keyValue(of: key)
        for write in try pendingWrites(of: old, in: mirror) {
            var (fields, before) = (write.fields, write.before)
            if fields[key.name.text] != nil { fields[key.name.text] = value }
            if before?[key.name.text] != nil { before?[key.name.text] = value }
            try applyOwn(
                RecordChange(
                    PendingWriteRecords.writes.name,
                    .update(write.id, ["record": .string(new.text), "fields": .dictionary(fields)])))
            try applyOwn(
                RecordChange(
                    PendingWriteRecords.deliveries.name,
                    .update(
                        write.id,
                        ["record": .string(new.text), "before": before.map { .dictionary($0) } ?? .null])))
        }
    }

    /// Has the writes of a record that names `old` in a field name `new` there.
    public func repointPendingWrites(
        of record: RecordID, in mirror: CollectionID, _ field: FieldName, from old: WireValue, to new: WireValue
    ) throws {
        for write in try pendingWrites(of: record, in: mirror) {
            var (fields, before) = (write.fields, write.before)
            guard fields[field.text] == old || before?[field.text] == old else { continue }
            if fields[field.text] == old { fields[field.text] = new }
            if before?[field.text] == old { before?[field.text] = new }
            try applyOwn(
                RecordChange(PendingWriteRecords.writes.name, .update(write.id, ["fields": .dictionary(fields)])))
            try setBefore(before, of: write.id)
        }
    }

    private func applyOwn(_ change: RecordChange) throws {
        let step = WriteTransaction.Step(adapter: PendingWriteRecords.adapter, change: change)
        _ = try apply(WriteTransaction([step], author: Principal.system.name))
    }
}

extension RecordID {
    /// As a key field of this type has it.
    public func keyValue(of field: Field) -> WireValue {
        if case .integer = field.shape, let number = Int64(text) { return .int64(number) }
        return .string(text)
    }
}
