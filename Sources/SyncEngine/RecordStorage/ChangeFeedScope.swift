import AdapterKit

/// Which rows of one entity somebody is told news of.
struct ChangeFeedScope {
    let id: CollectionID
    /// Nil: the adapter itself, which sees every row.
    let principal: Principal?
    let groups: [GroupRelation]
    private let entity: Entity
    private let visible: Filter?

    init(_ name: EntityName, of declaration: AdapterDeclaration, for principal: Principal?) throws(PorticoError) {
        let scope = try EntityScope(reading: name, of: declaration, for: principal)
        id = scope.collection
        visible = scope.visible
        entity = scope.entity
        self.principal = principal
        groups = scope.visible == nil ? [] : scope.entity.rows.read.groups
    }

    var groupCollections: [CollectionID] { groups.map { CollectionID(id.adapter, $0.entity) } }

    func holds(_ state: RowState?, at position: Revision, in memberships: Memberships) throws -> Bool {
        guard let state else { return false }
        guard visible != nil, let principal else { return true }
        return try entity.rows.read.holds(for: principal, state.values) { group, record, members in
            try memberships.contains(
                principal, in: record, of: CollectionID(id.adapter, group), members, at: position)
        }
    }

    /// What of a state's values may be told.
    func history(of values: WireDictionary) -> WireDictionary {
        var kept = WireDictionary()
        for field in entity.historyFields { kept[field.text] = values[field.text] ?? .null }
        return kept
    }

    /// The same for the same rows by the same rules.
    func add(to digest: inout Mixer) {
        digest.add(id.description)
        digest.add(visible)
        for field in entity.fields { digest.add(field.name.text) }
        for field in entity.historyFields { digest.add("history \(field)") }
    }
}

extension Mixer {
    mutating func add(_ scope: ChangeFeedScope) { scope.add(to: &self) }
}
