import AdapterKit
import ODataEngine
import ODataModel

/// Collects the changes that deleting an entity causes: cascading deletions, cleared references, removed links.
struct DeletionRun {
    let tables: ServiceTables
    let snapshot: any RecordSnapshot
    /// Records that one deletion changes.
    let most: Int
    private var made: [RecordChange] = []
    private var gone: [EntityName: Set<RecordID>] = [:]
    /// Entities that cannot be without one that goes: all of them have to go too.
    private var needy: [(entity: EntityName, id: RecordID, name: String)] = []

    init(tables: ServiceTables, snapshot: any RecordSnapshot, most: Int) {
        self.tables = tables
        self.snapshot = snapshot
        self.most = most
    }

    /// In the order in which they are to be made, the deleted entity's own not among them. Throws `record.conflict` where
    /// one stays that cannot be without it.
    var changes: [RecordChange] {
        get throws(PorticoError) {
            if let one = needy.first(where: { !isGone($0.id, in: $0.entity) }) {
                throw PorticoError(.recordConflict, "There are \(one.name) that need this entity.", target: one.name)
            }
            return made
        }
    }

    /// Adds what hangs on a record that goes.
    mutating func part(_ record: Record, of table: RecordTable, _ dependents: [Dependents]? = nil) throws {
        gone[table.entity, default: []].insert(record.id)
        for kind in dependents ?? Dependents.all(of: table, in: tables) { try part(record, kind) }
        for link in tables.links {
            if link.source == table.source { try unlink(record, table, LinkTable.near, link) }
            if link.target == table.source { try unlink(record, table, LinkTable.far, link) }
        }
    }

    private mutating func part(_ record: Record, _ kind: Dependents) throws {
        let values = kind.pairs.map { record[$0.near] }
        guard values.allSatisfy({ !$0.isNull }) else { return }
        let filter = Filter.all(zip(kind.pairs, values).map { .compare($0.far, .equal, $1) })
        for other in try all(filter, in: kind.table.entity) where !isGone(other.id, in: kind.table.entity) {
            if kind.action == .cascade {
                try delete(other, of: kind.table)
            } else if let cleared = kind.cleared {
                made.append(RecordChange(kind.table.entity, .update(other.id, cleared)))
            } else {
                needy.append((kind.table.entity, other.id, kind.name))
            }
        }
    }

    private mutating func delete(_ record: Record, of table: RecordTable) throws {
        try part(record, of: table)
        made.append(RecordChange(table.entity, .delete(record.id)))
    }

    /// Links go; what they lead to goes too where the model says so, and is asked for where it needs them.
    private mutating func unlink(
        _ record: Record, _ table: RecordTable, _ side: FieldName, _ link: LinkTable
    ) throws {
        let isOurs = Filter.compare(side, .equal, record[table.keyField])
        let own = navigation(of: table, through: link, side)
        let other = side == LinkTable.near ? LinkTable.far : LinkTable.near
        guard let far = tables[side == LinkTable.near ? link.target : link.source] else { return }
        let needs = navigation(of: far, through: link, other).map { !$0.isCollection && !$0.isNullable } ?? false
        for pair in try all(isOurs, in: link.entity) where !isGone(pair.id, in: link.entity) {
            gone[link.entity, default: []].insert(pair.id)
            made.append(RecordChange(link.entity, .delete(pair.id)))
            guard own?.onDelete == .cascade || needs, let id = RecordID(key: pair[other]), !isGone(id, in: far.entity)
            else { continue }
            if own?.onDelete == .cascade, let linked = try snapshot.record(id, in: far.entity) {
                try delete(linked, of: far)
            } else if needs {
                needy.append((far.entity, id, far.source))
            }
        }
    }

    private func navigation(of table: RecordTable, through link: LinkTable, _ side: FieldName) -> NavigationProperty? {
        table.family.compactMap { tables.model.structured($0) }.flatMap(\.navigation).first { navigation in
            if case .links(_, link.entity, side, _, _)? = table.relations[navigation.name] { true } else { false }
        }
    }

    private func isGone(_ id: RecordID, in entity: EntityName) -> Bool { gone[entity]?.contains(id) ?? false }

    private func all(_ filter: Filter, in entity: EntityName) throws -> [Record] {
        let page = try snapshot.query(Query(filter, limit: Query.maximumLimit), in: entity)
        guard page.next == nil, made.count + page.records.count <= most else {
            throw PorticoError(.requestLimitExceeded, "More than \(most) entities go or change with this one.")
        }
        return page.records
    }
}

/// The entities that refer to entities of one set, and the action on each when its target is deleted (CSDL 4.01,
/// section 8.6).
struct Dependents: Sendable {
    let table: RecordTable
    /// `near` fields are of the set's records, `far` ones of the dependents'.
    let pairs: [RecordRelation.Pair]
    /// What the set's entities call them.
    let name: String
    let action: OnDelete
    /// What the dependents' fields are set to where they stay; nil: they cannot be without.
    let cleared: WireDictionary?

    static func all(of table: RecordTable, in tables: ServiceTables) -> [Dependents] {
        var found = tables.tables.values.sorted { $0.source < $1.source }.flatMap { far in
            far.family.compactMap { tables.model.structured($0) }.flatMap(\.navigation).compactMap { navigation in
                referring(far, by: navigation, to: table, in: tables)
            }
        }
        found = found.enumerated().filter { entityPath, one in
            !found[..<entityPath].contains { $0.table.source == one.table.source && $0.pairs == one.pairs }
        }.map(\.element)
        // Those that go come first, so that they are not checked as dependents.
        return found.filter { $0.action == .cascade } + found.filter { $0.action != .cascade }
    }

    private static func referring(
        _ far: RecordTable, by navigation: NavigationProperty, to table: RecordTable, in tables: ServiceTables
    ) -> Dependents? {
        guard !navigation.constraints.isEmpty,
            case .fields(table.source, let pairs, _)? = far.relations[navigation.name]
        else { return nil }
        let turned = pairs.map { RecordRelation.Pair(near: $0.far, far: $0.near) }
        let back = table.family.compactMap { tables.model.structured($0) }.flatMap(\.navigation).first { own in
            if case .fields(far.source, turned, _)? = table.relations[own.name] {
                own.constraints.isEmpty
            } else {
                false
            }
        }
        let action = back?.onDelete
        return Dependents(
            table: far, pairs: turned, name: back?.name ?? far.source, action: action ?? .setNull,
            cleared: action == OnDelete.none
                ? nil : cleared(turned, far, navigation, toDefaults: action == .setDefault, in: tables))
    }

    private static func cleared(
        _ pairs: [RecordRelation.Pair], _ far: RecordTable, _ navigation: NavigationProperty, toDefaults: Bool,
        in tables: ServiceTables
    ) -> WireDictionary? {
        var fields = WireDictionary()
        for pair in pairs {
            guard let column = far.columns.values.first(where: { $0.field == pair.far }) else { return nil }
            let declared = far.family.lazy.compactMap { tables.model.structured($0)?.property(column.property) }.first
            let standard = toDefaults ? declared?.defaultValue : nil
            if let value = standard.flatMap({ StoredValueCodec(model: tables.model).value(text: $0, type: column.type) }
            ) {
                fields[pair.far.text] = value
            } else if column.type.isNullable, navigation.isNullable {
                fields[pair.far.text] = .null
            } else {
                return nil
            }
        }
        return fields
    }
}
