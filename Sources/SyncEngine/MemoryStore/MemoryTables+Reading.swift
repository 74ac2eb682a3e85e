import AdapterKit
import RecordStorage

extension MemoryTables: StoreSnapshot {
    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        guard let record = try self.collection(collection).records[id] else { return nil }
        return try holds(visible, for: record, in: collection) ? record : nil
    }

    public func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try query.checkSize()
        let entity = try self.collection(collection).entity
        if let filter = query.filter { try FilterCheck(tables: self).check(filter, in: collection) }
        try entity.checkCursor(of: query)
        return try evaluator(collection).page(query)
    }

    public func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        guard let filter else { return try self.collection(collection).records.count }
        try FilterCheck(tables: self).check(filter, in: collection)
        let evaluator = try evaluator(collection)
        return evaluator.records.count { evaluator.holds(filter, $0) }
    }

    public func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        guard position >= floor else { throw PorticoError.belowFloor(floor) }
        var (low, high) = (0, log.count)
        while low < high {
            let middle = (low + high) / 2
            if log[middle].position > position { high = middle } else { low = middle + 1 }
        }
        return Array(log[low...].prefix(limit))
    }

    public func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        Array(log.reversed().lazy.filter { $0.id == id && $0.collection == collection }.prefix(limit))
    }

    public func client(_ id: ClientID) throws -> PushClient? { clients[id] }

    public func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        let later = clients.values.filter { client in id.map { client.id > $0 } ?? true }
        return Array(later.sorted { $0.id < $1.id }.prefix(limit))
    }

    public func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        outcomes[client]?[sequence]
    }

    public func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        let matching = kept.reversed().lazy.filter { kept in
            guard number.map({ kept.number < $0 }) ?? true else { return false }
            guard case .of(let id, let collection) = which else { return true }
            return kept.copy.id == id && kept.copy.collection == collection
        }
        return Array(matching.prefix(limit))
    }

    func holds(_ filter: Filter?, for record: Record, in collection: CollectionID) throws -> Bool {
        guard let filter else { return true }
        try FilterCheck(tables: self).check(filter, in: collection)
        return try evaluator(collection, [record]).holds(filter, record)
    }

    private func evaluator(_ id: CollectionID, _ records: [Record]? = nil) throws -> ReferenceEvaluator {
        let collection = try self.collection(id)
        var others: [EntityName: [Record]] = [:]
        for (other, found) in collections where other.adapter == id.adapter {
            others[other.entity] = Array(found.records.values)
        }
        return ReferenceEvaluator(
            entity: collection.entity, records: records ?? Array(collection.records.values), others: others)
    }
}

extension Entity {
    /// Throws `record.cursorInvalid` for a cursor of another order.
    func checkCursor(of query: Query) throws(PorticoError) {
        let order = try totalOrder(query.order)
        guard case .after(let cursor) = query.start else { return }
        let fits =
            cursor.values.count == order.count && cursor.values.last?.isNull == false
            && zip(order, cursor.values).allSatisfy { key, value in
                value.isNull || (field(key.field).map { $0.shape.compares(with: value) } ?? false)
            }
        guard fits else { throw PorticoError(.cursorInvalid, "The cursor belongs to another query.", target: "cursor") }
    }
}
