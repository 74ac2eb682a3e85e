import AdapterKit

/// Reads from the log what has become of an adapter's records, as far as a caller may know.
///
/// A record is returned where the caller sees it, or saw it in some state since the mark: a caller that read page by page
/// may have got each of them.
struct ChangeLogReader {
    /// Log entries that are looked at for one page, visible to the caller or not.
    private static let scan = 20_000
    /// And read at once.
    private static let batch = 1_000

    let mark: ChangeCursor
    private let snapshot: any StoreSnapshot
    private let scopes: [CollectionID: ChangeLogScope]
    private let history: RowHistory
    private let memberships: GroupMemberships

    init(
        _ names: [EntityName], of declaration: AdapterDeclaration, for principal: Principal?, epoch: Epoch,
        at snapshot: any StoreSnapshot
    ) throws {
        var digest = StableHash()
        digest.add(principal?.id ?? "")
        let replacements = try snapshot.replacements()
        var scopes: [CollectionID: ChangeLogScope] = [:]
        for name in names.sorted() {
            let scope = try ChangeLogScope(name, of: declaration, for: principal)
            scopes[scope.id] = scope
            digest.add(scope)
            for id in [scope.id] + scope.groupCollections {
                if let replaced = replacements[id] { digest.add("replaced \(replaced)") }
            }
        }
        self.scopes = scopes
        self.snapshot = snapshot
        history = RowHistory(snapshot: snapshot)
        memberships = GroupMemberships(history)
        mark = ChangeCursor(history: epoch.text, position: snapshot.position, scopeHash: digest.value)
    }

    /// Throws `sync.fetchAgain`.
    func page(since old: ChangeCursor, limit: Int) throws -> ChangedRecordPage {
        guard old.history == mark.history, old.scopeHash == mark.scopeHash else { throw Self.unknown }
        guard old.position <= mark.position else { throw Self.unknown }
        let touched = try touchedRows(since: old.position, limit: limit)
        try snapshot.prefetch(
            (touched.rows + touched.groups).flatMap { row -> [StoreRead] in
                [.record(row.id, in: row.collection), .history(row.id, in: row.collection, after: old.position)]
            })
        try checkGroups(touched, since: old.position)
        let records = try touched.rows.compactMap { try news($0, since: old.position) }
        let end = ChangeCursor(history: mark.history, position: touched.end, scopeHash: mark.scopeHash)
        return ChangedRecordPage(records: records, cursor: end, isComplete: touched.end == mark.position)
    }

    private struct Row: Hashable {
        let collection: CollectionID
        let id: RecordID
    }

    private struct Touched {
        var rows: [Row] = []
        var groups: [Row] = []
        var end: Revision
    }

    /// Records that the log names after a position, each once, up to where it was read.
    private func touchedRows(since position: Revision, limit: Int) throws -> Touched {
        var touched = Touched(end: position)
        var seen: Set<Row> = []
        var scanned = 0
        let groups = Set(scopes.values.flatMap(\.groupCollections))
        while touched.end < snapshot.position, scanned < Self.scan {
            let entries = try snapshot.changes(after: touched.end, limit: Self.batch)
            for entry in entries {
                let row = Row(collection: entry.collection, id: entry.id)
                if scopes[row.collection] != nil || groups.contains(row.collection), seen.insert(row).inserted {
                    if groups.contains(row.collection) { touched.groups.append(row) }
                    if scopes[row.collection] != nil {
                        guard touched.rows.count < limit else { return touched }
                        touched.rows.append(row)
                    }
                }
                touched.end = entry.position
            }
            scanned += entries.count
            if entries.count < Self.batch { touched.end = snapshot.position }
        }
        return touched
    }

    /// Nil for a record that the asker does not see and did not since then.
    private func news(_ row: Row, since position: Revision) throws -> ChangedRecord? {
        guard let scope = scopes[row.collection] else { return nil }
        let (record, stretches) = try history.trace(row.id, in: row.collection, since: position)
        let seen = try stretches.filter { try scope.holds($0.state, at: $0.until, in: memberships) }
        guard !seen.isEmpty else { return nil }
        let isSeen = try scope.holds(stretches.first?.state, at: snapshot.position, in: memberships)
        return ChangedRecord(
            entity: row.collection.entity, id: row.id, state: isSeen ? .visible : record == nil ? .deleted : .hidden,
            previousFields: seen.compactMap { $0.state.map { scope.history(of: $0.values) } })
    }

    /// Rows that did not change, but whose group took the asker in or put it out, are not found by the log: who asks has
    /// to read again.
    private func checkGroups(_ touched: Touched, since position: Revision) throws {
        for row in touched.groups {
            for scope in scopes.values {
                for group in scope.groups where CollectionID(scope.id.adapter, group.entity) == row.collection {
                    guard let principal = scope.principal else { continue }
                    let was = try memberships.contains(
                        principal, in: row.id, of: row.collection, group.members, at: position)
                    let isNow = try memberships.contains(
                        principal, in: row.id, of: row.collection, group.members, at: snapshot.position)
                    if was != isNow { throw Self.moved }
                }
            }
        }
    }

    private static let unknown = PorticoError(
        .fetchAgain, "What has changed since then is not known. Fetch everything again.")
    private static let moved = PorticoError(
        .fetchAgain, "You see other records than before. Fetch everything again.")
}

/// The rows of one entity whose changes a caller gets.
struct ChangeLogScope {
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

    func holds(_ state: RowState?, at position: Revision, in memberships: GroupMemberships) throws -> Bool {
        guard let state else { return false }
        guard visible != nil, let principal else { return true }
        return try entity.rows.read.holds(for: principal, state.values) { group, record, members in
            try memberships.contains(
                principal, in: record, of: CollectionID(id.adapter, group), members, at: position)
        }
    }

    /// The values of a state that the caller may see.
    func history(of values: WireDictionary) -> WireDictionary {
        var kept = WireDictionary()
        for field in entity.historyFields { kept[field.text] = values[field.text] ?? .null }
        return kept
    }

    /// The same for the same rows by the same rules.
    func add(to digest: inout StableHash) {
        digest.add(id.description)
        digest.add(visible)
        for field in entity.fields { digest.add(field.name.text) }
        for field in entity.historyFields { digest.add("history \(field)") }
    }
}

extension StableHash {
    mutating func add(_ scope: ChangeLogScope) { scope.add(to: &self) }
}
