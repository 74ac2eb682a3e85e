import AdapterKit

/// Who was in which group when. Remembers what it found, because many rows name few groups.
package final class Memberships {
    private struct Question: Hashable {
        let id: RecordID
        let collection: CollectionID
        let members: FieldName
        let position: Revision
        let name: String
    }

    private let history: RowHistory
    private var known: [Question: Bool] = [:]

    package init(_ history: RowHistory) {
        self.history = history
    }

    /// What became of a principal in a group.
    package enum Move: Hashable {
        case none
        case once
        /// Out and in, or in and out: as it was, but not all the time.
        case backAgain
    }

    package func move(
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

    package func contains(
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
