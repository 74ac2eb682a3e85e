import AdapterKit
import ODataModel
import ODataRecords

/// What the models of all services demand of their records: the one place that holds them, asked for every change that a
/// caller makes, whether OData's doors, the generic resource or a device's push bring it.
struct ServiceRules: RecordRules {
    private let sets: [EntityName: SetRules]
    private let links: [EntityName: LinkRules]

    init(_ services: [ServiceConfiguration]) {
        let sets = services.flatMap { service in
            service.tables.tables.values.map {
                SetRules(
                    tables: service.tables, table: $0, typeProperty: service.discriminators[$0.source],
                    deletedWith: service.limits.deletedWith)
            }
        }
        let links = services.flatMap { service in
            service.tables.links.map { LinkRules(tables: service.tables, link: $0) }
        }
        self.sets = Dictionary(sets.map { ($0.table.entity, $0) }, uniquingKeysWith: { $1 })
        self.links = Dictionary(links.map { ($0.link.entity, $0) }, uniquingKeysWith: { $1 })
    }

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        if let set = sets[change.entity] { return try set.prepare(change, of: record, in: writing) }
        if let link = links[change.entity] { return try link.prepare(change, of: record, in: writing) }
        return PreparedChange(change)
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        if let set = sets[entity] { return try set.verify(record, in: writing) }
        try links[entity]?.verify(record, in: writing)
    }
}
