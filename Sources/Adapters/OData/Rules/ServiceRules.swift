import AdapterKit
import ODataEngine
import ODataModel

/// Validates every change of a service's records against its model: changes by OData requests, by the generic resource
/// and by a device's push.
struct ServiceRules: RecordRules {
    private let sets: [EntityName: SetRules]
    private let links: [EntityName: LinkRules]
    /// What a deletion may take with it: the largest `deletedWith` of the services.
    let maximumFirst: Int

    init(_ services: [ServiceConfiguration]) {
        let sets = services.flatMap { service in
            service.tables.tables.values.map {
                SetRules(
                    tables: service.tables, table: $0, typeProperty: service.discriminators[$0.source],
                    deletedWith: service.limits.deletedWith, isMirror: service.upstream != nil)
            }
        }
        let links = services.flatMap { service in
            service.tables.links.map { LinkRules(tables: service.tables, link: $0) }
        }
        self.sets = Dictionary(sets.map { ($0.table.entity, $0) }, uniquingKeysWith: { $1 })
        self.links = Dictionary(links.map { ($0.link.entity, $0) }, uniquingKeysWith: { $1 })
        maximumFirst = services.reduce(PreparedChange.maximumFirst) { max($0, $1.limits.deletedWith) }
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

/// Validates records that link two entities of a many-to-many relation.
struct LinkRules: Sendable {
    let tables: ServiceTables
    let link: LinkTable
    /// The fields whose entity is led to at most one other by these links, and whether it needs that one.
    private let single: [FieldName: NavigationProperty]

    init(tables: ServiceTables, link: LinkTable) {
        self.tables = tables
        self.link = link
        var single: [FieldName: NavigationProperty] = [:]
        for source in [link.source, link.target] {
            guard let table = tables[source] else { continue }
            for navigation in table.family.compactMap({ tables.model.structured($0) }).flatMap(\.navigation) {
                guard case .links(_, link.entity, let near, _, false)? = table.relations[navigation.name] else {
                    continue
                }
                single[near] = navigation
            }
        }
        self.single = single
    }

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        switch (change.action, record) {
        case (.delete, let record?):
            try checkRemoval(record, in: writing.snapshot)
            return PreparedChange(change)
        case (_, let record?):
            for field in [LinkTable.near, LinkTable.far] {
                guard let sent = change.fields[field.text], sent != record[field] else { continue }
                throw PorticoError(.requestInvalid, "A link does not change; make another.", target: field.text)
            }
            return PreparedChange(change)
        case (_, nil): return try creation(change, in: writing.snapshot)
        }
    }

    private func creation(_ change: RecordChange, in snapshot: any RecordSnapshot) throws -> PreparedChange {
        let near = try end(LinkTable.near, change.fields)
        let far = try end(LinkTable.far, change.fields)
        let pair = LinkTable.pair(near, far)
        let named = change.recordID?.text ?? change.fields[LinkTable.key.text]?.stringValue ?? pair
        guard named == pair, let id = RecordID(pair) else {
            throw PorticoError(.requestInvalid, "The id of this link is `\(pair)`.", target: LinkTable.key.text)
        }
        var fields = change.fields
        fields[LinkTable.key.text] = .string(pair)
        var prepared = change.setting(fields)
        if case .create = change.action {
            prepared = RecordChange(change.entity, .create(id, fields), if: change.condition)
        }
        return PreparedChange(prepared, after: try replaced(fields, in: snapshot), askingCaller: true)
    }

    private func end(_ field: FieldName, _ fields: WireDictionary) throws(PorticoError) -> RecordID {
        guard let id = fields[field.text].flatMap({ RecordID(key: $0) }) else {
            throw PorticoError(.requestInvalid, "\(field) is missing.", target: field.text)
        }
        return id
    }

    /// Links that give way to a new one, because there is at most one of their kind.
    private func replaced(_ fields: WireDictionary, in snapshot: any RecordSnapshot) throws -> [RecordChange] {
        try single.keys.sorted().flatMap { field in
            try snapshot.query(Query(.compare(field, .equal, fields[field.text] ?? .null)), in: link.entity).records.map
            {
                RecordChange(link.entity, .delete($0.id))
            }
        }
    }

    private func checkRemoval(_ record: Record, in snapshot: any RecordSnapshot) throws {
        for (field, navigation) in single where !navigation.isNullable {
            let isTheirs = Filter.compare(field, .equal, record[field])
            if try snapshot.count(isTheirs, in: link.entity) < 2 { throw ReferenceRules.missing(navigation) }
        }
    }

    /// Throws `request.invalid` where one of the two is not there, or the caller may not know of it.
    func verify(_ record: Record, in writing: RecordRuleContext) throws {
        for (field, source) in [(LinkTable.near, link.source), (LinkTable.far, link.target)] {
            guard let table = tables[source], let id = RecordID(key: record[field]) else { continue }
            let isThere = try writing.snapshot.record(id, in: table.entity) != nil
            guard try isThere && (writing.earlier != nil || writing.callerKnows(id, in: table.entity)) else {
                throw PorticoError(
                    .requestInvalid, "\(field) names an entity of \(source) that is not there.", target: field.text)
            }
        }
    }
}

/// Checks that referenced entities exist. Runs after all changes of a transaction, so that their order does not matter.
///
/// An entity that the caller may neither read nor change is none to lead a reference to, in the same words as one that is not there:
/// otherwise who may write one set finds out the keys of another. What a reference says already stays.
struct ReferenceRules {
    let tables: ServiceTables
    let writing: RecordRuleContext
    private var snapshot: any RecordSnapshot { writing.snapshot }

    init(tables: ServiceTables, writing: RecordRuleContext) {
        self.tables = tables
        self.writing = writing
    }

    /// Throws `request.invalid` with the navigation property as the target.
    func verify(_ record: Record, of table: RecordTable) throws {
        let type = tables.model.structured(table.type(of: record)) ?? table.type
        for navigation in type.navigation where !navigation.isCollection {
            guard let relation = table.relations[navigation.name], let far = tables[relation.target] else { continue }
            switch relation {
            case .fields(_, let pairs, _) where !navigation.constraints.isEmpty:
                let isKept = writing.earlier.map { earlier in
                    pairs.allSatisfy { earlier[$0.near] == record[$0.near] }
                }
                try verify(navigation, pairs.map { (record[$0.near], $0.far) }, far, isKept: isKept ?? false)
            case .links(_, let through, let near, _, _) where !navigation.isNullable:
                let isLinked = Filter.compare(near, .equal, record[table.keyField])
                if try snapshot.count(isLinked, in: through) == 0 { throw Self.missing(navigation) }
            default: continue
            }
        }
    }

    private func verify(
        _ navigation: NavigationProperty, _ values: [(value: WireValue, field: FieldName)], _ far: RecordTable,
        isKept: Bool
    ) throws {
        guard values.allSatisfy({ !$0.value.isNull }) else {
            if navigation.isNullable { return }
            throw Self.missing(navigation)
        }
        guard let id = try found(values, far), try isKept || writing.callerKnows(id, in: far.entity) else {
            throw PorticoError(
                .requestInvalid, "\(navigation.name) would lead to an entity that is not there.",
                target: navigation.name)
        }
    }

    private func found(_ values: [(value: WireValue, field: FieldName)], _ far: RecordTable) throws -> RecordID? {
        if values.count == 1, values[0].field == far.keyField {
            guard let id = RecordID(key: values[0].value) else { return nil }
            return try snapshot.record(id, in: far.entity)?.id
        }
        let filter = Filter.all(values.map { .compare($0.field, .equal, $0.value) })
        return try snapshot.query(Query(filter, limit: 1), in: far.entity).records.first?.id
    }

    static func missing(_ navigation: NavigationProperty) -> PorticoError {
        PorticoError(
            .requestInvalid, "There is no entity without its \(navigation.name).", target: navigation.name)
    }
}

/// Which operations the model's capability annotations allow on a set. Each restriction counts by itself.
struct SetCapabilities: Sendable {
    enum Action: Sendable {
        case insert
        case update
        case delete

        fileprivate var term: (name: String, property: String) {
            switch self {
            case .insert: (CoreTerm.insertRestrictions, "Insertable")
            case .update: (CoreTerm.updateRestrictions, "Updatable")
            case .delete: (CoreTerm.deleteRestrictions, "Deletable")
            }
        }

        /// Completes the sentence that begins with the set.
        var refusal: String {
            switch self {
            case .insert: "takes no new entities"
            case .update: "has entities that do not change"
            case .delete: "has entities that stay"
            }
        }
    }

    private let annotations: Annotations?

    init(_ table: RecordTable, of model: EntityDataModel) {
        annotations =
            model.container.entitySet(table.source)?.annotations ?? model.container.singleton(table.source)?.annotations
    }

    func allow(_ action: Action) -> Bool {
        annotations?[action.term.name]?[action.term.property]?.boolValue != false
    }
}
