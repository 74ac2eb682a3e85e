import AdapterKit
import RecordStorage

/// A collection as one principal may see it: the unit that is counted, checked and fetched again.
///
/// Whatever grants a row (own, shared, by a group) is one scope, so a row that loses one grant stays while another holds.
struct Scope: Sendable {
    let collection: SyncCollection
    let principal: Principal
    /// Nil: every row.
    let visible: Filter?
    let groups: [GroupRelation]
    /// Changes when the same rows would be seen by other rules: the declaration, the configured access, or the
    /// principal's roles and attributes are not what they were.
    let fingerprint: UInt64

    init(_ collection: SyncCollection, for caller: SyncCaller) {
        self.collection = collection
        principal = caller.principal
        let isOpen = collection.verdict(for: caller, effect: .reads) == .allowed
        visible = isOpen ? collection.entity.rows.read.filter(for: caller.principal) : .never
        groups = visible == nil || visible == .never ? [] : collection.entity.rows.read.groups
        var digest = Mixer()
        digest.add(visible)
        for field in collection.entity.fields { digest.add(field.name.text) }
        fingerprint = digest.value
    }

    var name: String { collection.name }

    /// Whether the principal may see a row in that state, with the groups as they were at that position.
    func holds(_ state: RowState?, at position: Revision, in memberships: Memberships) throws -> Bool {
        guard let state, visible != .never else { return false }
        guard visible != nil else { return true }
        return try collection.entity.rows.read.holds(for: principal, state.values) { entity, id, members in
            try memberships.contains(
                principal, in: id, of: CollectionID(collection.id.adapter, entity), members, at: position)
        }
    }
}
