import AdapterKit
import ODataAddresses
import ODataModel
import ODataRecords

/// Finds the records that addresses lead to.
struct RecordFinder: Sendable {
    let tables: ServiceTables
    let records: any RecordStore

    /// Nil where there is none, or where it is of another type than the path says.
    func record(_ place: EntityPlace) async throws -> Record? {
        guard let record = try await anyType(place) else { return nil }
        guard tables.model.type(place.table.type(of: record), isA: place.type.name) else { return nil }
        return record
    }

    /// Throws `record.notFound` where there is none.
    func found(_ place: EntityPlace) async throws -> Record {
        guard let record = try await record(place) else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: place.table.source)
        }
        return record
    }

    private func anyType(_ place: EntityPlace) async throws -> Record? {
        switch place.origin {
        case .key(let id): return try await records.record(id, in: place.table.entity)
        case .member(let entities, let id):
            guard let record = try await records.record(id, in: place.table.entity) else { return nil }
            guard let filter = try await filter(entities) else { return record }
            let own = Filter.compare(place.table.keyField, .equal, record[place.table.keyField])
            return try await records.query(Query(.all([own, filter]), limit: 1), in: place.table.entity).records.first
        case .related(let source, let relation, _):
            let near = try await found(source)
            guard let filter = try await filter(of: relation, from: near, source.table) else { return nil }
            return try await records.query(Query(filter, limit: 1), in: place.table.entity).records.first
        }
    }

    /// Which records of the table are meant; nil: all.
    func filter(_ place: EntityCollectionPath) async throws -> Filter? {
        if case .filtered = place.origin {
            throw ODataError.notImplemented("A filter segment before this one")
        }
        var filter: Filter?
        if case .related(let source, let relation, _) = place.origin {
            let near = try await found(source)
            filter = try await self.filter(of: relation, from: near, source.table) ?? .never
        }
        guard let discriminator = place.table.discriminator, place.type.name != place.table.type.name else {
            return filter
        }
        let family = tables.model.family(of: place.type.name).map { WireValue.string($0.description) }
        return .both(filter, .oneOf(discriminator, family))
    }

    /// The records that a relation leads to from `near`; nil where it leads nowhere.
    func filter(of relation: RecordRelation, from near: Record, _ table: RecordTable) async throws -> Filter? {
        switch relation {
        case .fields(_, let pairs, _):
            guard pairs.allSatisfy({ !near[$0.near].isNull }) else { return nil }
            return .all(pairs.map { .compare($0.far, .equal, near[$0.near]) })
        case .links(let target, let through, let own, let other, _):
            let keys = try await linked(near[table.keyField], through, own, other)
            return tables[target].map { .oneOf($0.keyField, keys) }
        }
    }

    private func linked(
        _ key: WireValue, _ through: EntityName, _ own: FieldName, _ other: FieldName
    ) async throws -> [WireValue] {
        var keys: [WireValue] = []
        var query = Query(.compare(own, .equal, key), limit: Query.maximumLimit)
        while true {
            let page = try await records.query(query, in: through)
            keys += page.records.map { $0[other] }
            guard let next = page.next else { return keys }
            query.start = .after(next)
        }
    }
}

extension RecordTable {
    /// The record's own type.
    func type(of record: Record) -> QualifiedName {
        discriminator.flatMap { record[$0].stringValue }.flatMap { QualifiedName($0) } ?? type.name
    }
}
