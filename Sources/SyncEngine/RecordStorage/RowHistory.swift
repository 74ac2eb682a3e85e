import AdapterKit

/// A row at some position of the log, as far as row rules and checksums look at it.
package struct RowState: Sendable, Equatable {
    package let revision: Revision
    package let values: WireDictionary

    package init(revision: Revision, values: WireDictionary) {
        self.revision = revision
        self.values = values
    }

    package init(_ record: Record) { self.init(revision: record.revision, values: record.fields) }
}

/// Rows as they are at a moment and as they were at earlier positions, which the log's entries tell.
package struct RowHistory {
    private let snapshot: any StoreSnapshot

    package init(snapshot: any StoreSnapshot) {
        self.snapshot = snapshot
    }

    /// A stretch of a row's life: it was `state` (nil: not there) up to and with the position `until`.
    package struct Stretch {
        package let state: RowState?
        package let until: Revision
    }

    /// The row now, and its stretches since `position`, the newest first: the last one is how it was there. `known` is
    /// the row now, where it has been read already; within it, nil stands for a row that is not there.
    package func trace(
        _ id: RecordID, in collection: CollectionID, since position: Revision, known: Record?? = nil
    ) throws -> (record: Record?, stretches: [Stretch]) {
        let record = try known ?? snapshot.record(id, in: collection, visible: nil)
        var state = record.map(RowState.init)
        var stretches = [Stretch(state: state, until: snapshot.position)]
        for entry in try entries(of: id, in: collection, since: position) {
            // A migration notes no values: the rules' fields are as they are after it.
            let values = entry.previousScopeValues.isEmpty ? state?.values ?? [:] : entry.previousScopeValues
            state = entry.previousRevision.map { RowState(revision: $0, values: values) }
            stretches.append(Stretch(state: state, until: Revision(entry.position.number - 1)))
        }
        return (record, stretches)
    }

    package func state(of id: RecordID, in collection: CollectionID, at position: Revision) throws -> RowState? {
        try trace(id, in: collection, since: position).stretches.last?.state
    }

    /// The row's entries after `position`, newest first.
    package func entries(of id: RecordID, in collection: CollectionID, since position: Revision) throws -> [LogEntry] {
        try snapshot.history(of: id, in: collection, after: position)
    }
}

extension [RowHistory.Stretch] {
    /// The row at a position that the trace covers.
    package func state(at position: Revision) -> RowState? {
        last { $0.until >= position }?.state
    }
}

/// The members of groups over time. Remembers what it found, because many rows name few groups.
package final class GroupMemberships {
    private struct MembershipKey: Hashable {
        let id: RecordID
        let collection: CollectionID
        let members: FieldName
        let position: Revision
        let name: String
    }

    private let history: RowHistory
    private var known: [MembershipKey: Bool] = [:]

    package init(_ history: RowHistory) {
        self.history = history
    }

    /// A move of a principal in a group.
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
        let query = MembershipKey(
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
