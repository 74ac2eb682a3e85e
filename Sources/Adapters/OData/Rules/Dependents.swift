import AdapterKit
import ODataModel
import ODataRecords

/// Entities that refer to one of a set, and what becomes of them when that goes (CSDL 4.01, section 8.6).
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
        found = found.enumerated().filter { place, one in
            !found[..<place].contains { $0.table.source == one.table.source && $0.pairs == one.pairs }
        }.map(\.element)
        // Those that go come first, so that nobody is asked what is to become of them.
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
            if let value = standard.flatMap({ StoredForm(model: tables.model).value(text: $0, type: column.type) }) {
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
