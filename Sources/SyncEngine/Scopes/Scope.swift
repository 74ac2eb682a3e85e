import AdapterKit

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

/// Who was in which group when. Remembers what it found, because many rows name few groups.
final class Memberships {
    private struct Question: Hashable {
        let id: RecordID
        let collection: CollectionID
        let members: FieldName
        let position: Revision
        let name: String
    }

    private let history: RowHistory
    private var known: [Question: Bool] = [:]

    init(_ history: RowHistory) {
        self.history = history
    }

    /// What became of a principal in a group.
    enum Move: Hashable {
        case none
        case once
        /// Out and in, or in and out: as it was, but not all the time.
        case backAgain
    }

    func move(
        of principal: Principal, in id: RecordID, of collection: CollectionID, _ members: FieldName,
        from start: Revision, to end: Revision
    ) throws -> Move {
        let stretches = try history.trace(id, in: collection, since: start).stretches
        // From the stretch that `end` lies in to the one that `start` lies in.
        let last = stretches.lastIndex { $0.until >= end } ?? stretches.startIndex
        let wasIn = stretches[last...].map { $0.state.names(principal, among: members) }
        guard wasIn.contains(where: { $0 != wasIn.first }) else { return .none }
        return wasIn.first == wasIn.last ? .backAgain : .once
    }

    func contains(
        _ principal: Principal, in id: RecordID, of collection: CollectionID, _ members: FieldName,
        at position: Revision
    ) throws -> Bool {
        let query = Question(
            id: id, collection: collection, members: members, position: position, name: principal.name)
        if let answer = known[query] { return answer }
        let state = try history.state(of: id, in: collection, at: position)
        let answer = state.names(principal, among: members)
        known[query] = answer
        return answer
    }
}

extension RowState? {
    /// Whether a group in that state has the principal in it.
    fileprivate func names(_ principal: Principal, among members: FieldName) -> Bool {
        self?.values.list(members).contains(.string(principal.name)) ?? false
    }
}
