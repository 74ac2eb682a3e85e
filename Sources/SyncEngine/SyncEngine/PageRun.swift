import AdapterKit
import RecordStorage
import SyncMessages

/// One page in the making: the checkpoint moves on, operations gather.
struct PageRun {
    var checkpoint: Checkpoint
    let scopes: [String: Scope]
    let snapshot: any StoreSnapshot
    let limits: PullLimits
    let history: RowHistory
    let memberships: Memberships
    /// Operations that still fit.
    var room: Int
    /// Bytes of records that still fit; below zero where a record alone was larger.
    var bytes: Int
    var operations: [RecordOperation] = []
    var reset: [String] = []

    init(
        _ checkpoint: Checkpoint, scopes: [String: Scope], snapshot: any StoreSnapshot, limits: PullLimits, room: Int
    ) {
        self.checkpoint = checkpoint
        self.scopes = scopes
        self.snapshot = snapshot
        self.limits = limits
        self.room = room
        bytes = limits.pageBytes
        history = RowHistory(snapshot: snapshot)
        memberships = Memberships(history)
    }

    var isFull: Bool { room <= 0 || bytes <= 0 }

    var isCaughtUp: Bool { checkpoint.position == snapshot.position }

    mutating func put(_ record: Record, of scope: Scope) {
        add(scope, record.id, record.revision, .put(RecordFields(record.fields)))
        bytes -= record.writtenSize
    }

    mutating func add(_ scope: Scope, _ id: RecordID, _ revision: Revision, _ kind: RecordOperation.Kind) {
        operations.append(
            RecordOperation(collection: scope.name, id: id.text, rev: revision.number, kind: kind))
        room -= 1
    }

    /// The scope's rows are sent from the first one on, and the device forgets what it has of them.
    mutating func begin(_ index: Int, again scope: Scope) {
        checkpoint.scopes[index] = ScopeState(begin: scope)
        if !reset.contains(scope.name) { reset.append(scope.name) }
        operations.removeAll { $0.collection == scope.name }
    }

    func page(_ tokens: CheckpointTokens) -> PullPage {
        let token = tokens.token(of: checkpoint)
        let isComplete = isCaughtUp && checkpoint.scopes.allSatisfy { $0.walk == .done }
        let summaries = checkpoint.scopes.map {
            ScopeSummary(scope: $0.name, count: $0.checksum.count, checksum: $0.checksum.text)
        }
        return PullPage(
            reset: reset, operations: operations,
            ending: isComplete
                ? .complete(
                    PullCompletion(
                        checkpoint: token, position: checkpoint.position.number, scopes: summaries))
                : .next(token))
    }
}

extension PageRun {
    /// Sends rows of the scopes that the device does not have yet, once it has been told everything else.
    mutating func walk() throws {
        guard isCaughtUp else { return }
        for index in checkpoint.scopes.indices {
            guard let scope = scopes[checkpoint.scopes[index].name] else { continue }
            while checkpoint.scopes[index].walk != .done, !isFull { try step(index, scope) }
        }
    }

    private mutating func step(_ index: Int, _ scope: Scope) throws {
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
