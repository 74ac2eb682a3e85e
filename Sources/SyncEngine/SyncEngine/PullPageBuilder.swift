import AdapterKit
import RecordStorage
import SyncMessages

/// One page in the making: the checkpoint moves on, operations gather.
struct PullPageBuilder {
    var checkpoint: Checkpoint
    let scopes: [String: SyncScope]
    let snapshot: any StoreSnapshot
    let limits: PullLimits
    let history: RowHistory
    let memberships: GroupMemberships
    /// Operations that still fit.
    var room: Int
    /// Bytes of records that still fit; below zero where a record alone was larger.
    var bytes: Int
    var operations: [RecordOperation] = []
    var reset: [String] = []
    /// A digest of the descriptions that the device has; nil: it wants none.
    var describe: String?

    init(
        _ checkpoint: Checkpoint, scopes: [String: SyncScope], snapshot: any StoreSnapshot, limits: PullLimits,
        room: Int
    ) {
        self.checkpoint = checkpoint
        self.scopes = scopes
        self.snapshot = snapshot
        self.limits = limits
        self.room = room
        bytes = limits.pageBytes
        history = RowHistory(snapshot: snapshot)
        memberships = GroupMemberships(history)
    }

    var isFull: Bool { room <= 0 || bytes <= 0 }

    var isCaughtUp: Bool { checkpoint.position == snapshot.position }

    mutating func put(_ record: Record, of scope: SyncScope) {
        add(scope, record.id, record.revision, .put(RecordFields(record.fields)))
        bytes -= record.writtenSize
    }

    mutating func add(_ scope: SyncScope, _ id: RecordID, _ revision: Revision, _ kind: RecordOperation.Kind) {
        operations.append(
            RecordOperation(collection: scope.name, id: id.text, rev: revision.number, kind: kind))
        room -= 1
    }

    /// The scope's rows are sent from the first one on, and the device forgets what it has of them.
    mutating func begin(_ index: Int, again scope: SyncScope) {
        checkpoint.scopes[index] = ScopeProgress(begin: scope)
        if !reset.contains(scope.name) { reset.append(scope.name) }
        operations.removeAll { $0.collection == scope.name }
    }

    func page(_ tokens: CheckpointTokens) throws -> PullPage {
        let token = tokens.token(of: checkpoint)
        let isComplete = isCaughtUp && checkpoint.scopes.allSatisfy { $0.walk == .done }
        return PullPage(
            reset: reset, operations: operations, ending: isComplete ? .complete(try completion(token)) : .next(token))
    }

    private func completion(_ token: String) throws -> PullCompletion {
        let description = describe.map { _ in self.description }
        let tells = description != describe
        let summaries = try checkpoint.scopes.map {
            ScopeSummary(
                scope: $0.name, count: $0.checksum.count, checksum: $0.checksum.text,
                asOf: try asOf(scopes[$0.name]), description: tells ? scopes[$0.name]?.description : nil)
        }
        return PullCompletion(
            checkpoint: token, position: checkpoint.position.number, scopes: summaries, description: description)
    }

    /// A digest of all scopes' descriptions together.
    private var description: String {
        var digest = StableHash()
        for state in checkpoint.scopes {
            guard let description = scopes[state.name]?.description else { continue }
            for text in [state.name, description.key, "\(description.fields.count)"] { digest.add(text) }
            for field in description.fields.sorted(by: { $0.key < $1.key }) {
                digest.add(field.key)
                digest.add(field.value)
            }
        }
        return String(digest.value, radix: 16)
    }
}

extension PullPageBuilder {
    /// When another system had the scope's rows; nil for rows whose truth is here, and for a mirror that was never fetched.
    private func asOf(_ scope: SyncScope?) throws -> WireDate? {
        guard let scope, scope.collection.isMirror else { return nil }
        let state = try snapshot.mirrorState(of: scope.collection.id)
        let own = state?[MirrorStateField.callers]?[RowOwner(scope.principal).text]
        return (own ?? state?[MirrorStateField.asOf])?.dateValue
    }

    /// Sends rows of the scopes that the device does not have yet, once everything else has been sent.
    mutating func walk() throws {
        guard isCaughtUp else { return }
        for index in checkpoint.scopes.indices {
            guard let scope = scopes[checkpoint.scopes[index].name] else { continue }
            while checkpoint.scopes[index].walk != .done, !isFull { try step(index, scope) }
        }
    }

    private mutating func step(_ index: Int, _ scope: SyncScope) throws {
        guard scope.visible != .never else {
            checkpoint.scopes[index].walk = .done
            return
        }
        let key = scope.collection.entity.key.field
        var query = Query(scope.visible, order: [SortKey(key)], limit: min(room, Query.maximumLimit))
        if case .through(let last) = checkpoint.scopes[index].walk { query.start = .after(Cursor(values: [last])) }
        let page = try snapshot.query(query, in: scope.collection.id, atMost: bytes)
        for record in page.records {
            put(record, of: scope)
            checkpoint.scopes[index].checksum.add(
                collection: scope.name, id: record.id.text, rev: record.revision.number)
        }
        if let last = page.records.last, page.next != nil {
            checkpoint.scopes[index].walk = .through(last[key])
            // The next record did not fit: it would not fit alone into what is left of the page either.
            if page.records.count < query.limit { bytes = 0 }
        } else {
            checkpoint.scopes[index].walk = .done
        }
    }
}

extension PullPageBuilder {
    /// Tells what the log says since the checkpoint, of rows that the device has been sent.
    ///
    /// A row goes out as it is now, which may be later than the entries that are looked at; its later entries come again
    /// with a later page. It goes out only where it is to be seen at the position too: what shows it later, such as a
    /// group that took the principal in, may be undone before the next page, and nothing would take the row away again.
    /// Counts and checksums follow the log exactly: each is what the scope was at the position.
    mutating func catchUp() throws {
        var scanned = 0
        while !isCaughtUp, !isFull, scanned < limits.scan {
            let limit = min(room, limits.scan - scanned)
            let found = try snapshot.changes(after: checkpoint.position, limit: limit)
            try snapshot.prefetch(reads(of: found))
            try snapshot.prefetch(try groupReads(of: found))
            let (count, records) = try fitting(found)
            let entries = found.prefix(count)
            let last = entries.last?.position ?? snapshot.position
            let isAll = count == found.count
            let end = isAll && count < limit ? snapshot.position : last
            try tell(Stretch(entries, records, from: checkpoint.position, to: end))
            checkpoint.position = end
            scanned += count
            if !isAll { bytes = 0 }
        }
    }

    /// The rows that the entries are about, and groups of which they are, as they are and as they were.
    private func reads(of entries: [LogEntry]) -> [StoreRead] {
        let groups = Set(
            scopes.values.flatMap { scope in
                scope.groups.map { CollectionID(scope.collection.id.adapter, $0.entity) }
            })
        var seen: Set<Row> = []
        return entries.flatMap { entry -> [StoreRead] in
            let row = Row(collection: entry.collection, id: entry.id)
            guard groups.contains(row.collection) || sentScope(of: row) != nil, seen.insert(row).inserted else {
                return []
            }
            return [
                .record(row.id, in: row.collection), .history(row.id, in: row.collection, after: checkpoint.position),
            ]
        }
    }

    /// The groups that open those rows, which the rows name: none where no rule asks for groups.
    private func groupReads(of entries: [LogEntry]) throws -> [StoreRead] {
        var groups: Set<Row> = []
        var seen: Set<Row> = []
        for entry in entries {
            let row = Row(collection: entry.collection, id: entry.id)
            guard let scope = sentScope(of: row), !scope.groups.isEmpty, seen.insert(row).inserted else { continue }
            let (_, stretches) = try history.trace(row.id, in: row.collection, since: checkpoint.position)
            for state in stretches.compactMap(\.state) {
                for group in scope.groups {
                    guard let id = RecordID(key: state.values[group.through.text] ?? .null) else { continue }
                    groups.insert(Row(collection: CollectionID(row.collection.adapter, group.entity), id: id))
                }
            }
        }
        return groups.flatMap { group -> [StoreRead] in
            [
                .record(group.id, in: group.collection),
                .history(group.id, in: group.collection, after: checkpoint.position),
            ]
        }
    }

    /// The number of entries that concern rows which fit into the page, at least one; and rows that were read for it, no more
    /// of them than a page holds.
    private func fitting(_ entries: [LogEntry]) throws -> (count: Int, records: [Row: Record?]) {
        var records: [Row: Record?] = [:]
        var seen: Set<Row> = []
        var (size, kept) = (0, 0)
        for (index, entry) in entries.enumerated() {
            let row = Row(collection: entry.collection, id: entry.id)
            guard seen.insert(row).inserted, let scope = sentScope(of: row) else { continue }
            let record = try snapshot.record(row.id, in: row.collection, visible: nil)
            let recordSize = record?.writtenSize ?? 0
            if let record, try scope.holds(RowState(record), at: snapshot.position, in: memberships) {
                size += recordSize
            }
            if index > 0, size > bytes { return (index, records) }
            guard kept + recordSize <= bytes else { continue }
            kept += recordSize
            records[row] = .some(record)
        }
        return (entries.count, records)
    }

    /// The scope that the row belongs to, where the walk has passed the row.
    private func sentScope(of row: Row) -> SyncScope? {
        for state in checkpoint.scopes where state.walk != .before {
            guard let scope = scopes[state.name], scope.visible != .never, scope.collection.id == row.collection
            else { continue }
            return scope.key(of: row.id).flatMap { state.covers($0) ? scope : nil }
        }
        return nil
    }

    /// A piece of the log, and which rows it concerns.
    private struct Stretch {
        let from: Revision
        let to: Revision
        /// Rows as they are now, as far as they have been read; nil: not there.
        let records: [Row: Record?]
        private(set) var rows: [CollectionID: [RecordID]] = [:]

        init(_ entries: ArraySlice<LogEntry>, _ records: [Row: Record?], from: Revision, to: Revision) {
            self.from = from
            self.to = to
            self.records = records
            var seen: Set<Row> = []
            for entry in entries where seen.insert(Row(collection: entry.collection, id: entry.id)).inserted {
                rows[entry.collection, default: []].append(entry.id)
            }
        }
    }

    private struct Row: Hashable {
        let collection: CollectionID
        let id: RecordID
    }

    private mutating func tell(_ stretch: Stretch) throws {
        for index in checkpoint.scopes.indices where checkpoint.scopes[index].walk != .before {
            guard let scope = scopes[checkpoint.scopes[index].name], scope.visible != .never else { continue }
            let changed = stretch.rows[scope.collection.id] ?? []
            for id in changed { try tell(id, of: scope, index, stretch) }
            try regrant(scope, index, stretch, except: Set(changed))
        }
    }

    private mutating func tell(_ id: RecordID, of scope: SyncScope, _ index: Int, _ stretch: Stretch) throws {
        guard let key = scope.key(of: id), checkpoint.scopes[index].covers(key) else { return }
        let (record, stretches) = try history.trace(
            id, in: scope.collection.id, since: stretch.from,
            known: stretch.records[Row(collection: scope.collection.id, id: id)])
        let state = stretches.state(at: stretch.to)
        try move(id, scope, index, from: (stretches.last?.state, stretch.from), to: (state, stretch.to))
        let isSeen = try scope.holds(stretches.first?.state, at: snapshot.position, in: memberships)
        if let record, isSeen, try scope.holds(state, at: stretch.to, in: memberships) {
            put(record, of: scope)
        } else if !isSeen, let lost = try lastSeen(stretches, of: scope) {
            add(
                scope, id, record?.revision ?? Revision(lost.until.number + 1),
                .remove(movedTo: try newID(of: id, in: scope)))
        } else if try scope.holds(stretches.last?.state, at: stretch.from, in: memberships) {
            add(scope, id, record?.revision ?? snapshot.position, .remove(movedTo: try newID(of: id, in: scope)))
        }
    }

    /// Where another system chose the record's key; nil: it has none that the device may see.
    private func newID(of id: RecordID, in scope: SyncScope) throws -> String? {
        let collection = scope.collection
        guard collection.declaration.isWrittenElsewhere(collection.entity.name),
            let move = try snapshot.move(of: id, in: collection.id),
            try snapshot.record(move.to, in: collection.id, visible: scope.visible) != nil
        else { return nil }
        return move.to.text
    }

    private func lastSeen(_ stretches: [RowHistory.Stretch], of scope: SyncScope) throws -> RowHistory.Stretch? {
        try stretches.first { try scope.holds($0.state, at: $0.until, in: memberships) }
    }

    /// The scope's count and checksum, from one state of a row to another.
    private mutating func move(
        _ id: RecordID, _ scope: SyncScope, _ index: Int, from old: (RowState?, Revision), to new: (RowState?, Revision)
    ) throws {
        if let state = old.0, try scope.holds(state, at: old.1, in: memberships) {
            checkpoint.scopes[index].checksum.remove(
                collection: scope.name, id: id.text, rev: state.revision.number)
        }
        if let state = new.0, try scope.holds(state, at: new.1, in: memberships) {
            checkpoint.scopes[index].checksum.add(collection: scope.name, id: id.text, rev: state.revision.number)
        }
    }
}

extension PullPageBuilder {
    /// Rows that did not change, but whose groups took the principal in or put it out. A row of a group that did both is
    /// sent again where it is to be seen: a page in between may have taken it away.
    private mutating func regrant(
        _ scope: SyncScope, _ index: Int, _ stretch: Stretch, except changed: Set<RecordID>
    ) throws {
        var handled = changed
        for group in scope.groups {
            let collection = CollectionID(scope.collection.id.adapter, group.entity)
            let moved = try Dictionary(grouping: stretch.rows[collection] ?? []) { id in
                try memberships.move(
                    of: scope.principal, in: id, of: collection, group.members, from: stretch.from, to: stretch.to)
            }
            for move in [GroupMemberships.Move.once, .backAgain] {
                guard let groups = moved[move] else { continue }
                let page = try rows(of: scope, in: groups, by: group)
                guard stretch.to == snapshot.position, page.next == nil, page.records.count <= limits.regrant else {
                    return begin(index, again: scope)
                }
                for row in page.records where handled.insert(row.id).inserted {
                    try regrant(row, scope, index, stretch, tellsAgain: move == .backAgain)
                }
            }
        }
    }

    private mutating func regrant(
        _ row: Record, _ scope: SyncScope, _ index: Int, _ stretch: Stretch, tellsAgain: Bool
    ) throws {
        let state = RowState(row)
        guard checkpoint.scopes[index].covers(row[scope.collection.entity.key.field]) else { return }
        let had = try scope.holds(state, at: stretch.from, in: memberships)
        let has = try scope.holds(state, at: stretch.to, in: memberships)
        if has, !had {
            checkpoint.scopes[index].checksum.add(collection: scope.name, id: row.id.text, rev: row.revision.number)
        }
        if has, !had || tellsAgain { put(row, of: scope) }
        guard had, !has else { return }
        checkpoint.scopes[index].checksum.remove(collection: scope.name, id: row.id.text, rev: row.revision.number)
        add(scope, row.id, row.revision, .remove())
    }

    private func rows(of scope: SyncScope, in groups: [RecordID], by group: GroupRelation) throws -> RecordPage {
        let values = groups.compactMap { scope.value(of: $0, in: group.through) }
        let query = Query(
            .oneOf(group.through, values), limit: min(limits.regrant + 1, Query.maximumLimit))
        return try snapshot.query(query, in: scope.collection.id, atMost: bytes)
    }
}

extension SyncScope {
    /// The key field's value for an id; nil where no row can have that id.
    func key(of id: RecordID) -> WireValue? { value(of: id, in: collection.entity.key.field) }

    func value(of id: RecordID, in field: FieldName) -> WireValue? {
        guard case .integer = collection.entity.field(field)?.shape else { return .string(id.text) }
        return Int64(id.text).map { .int64($0) }
    }
}
