import AdapterKit
import RecordStorage
import SyncMessages

/// The least that a device must do: apply pages, compare checksums.
struct PlainDevice {
    struct Key: Hashable {
        let collection: String
        let id: String
    }

    var principal: Principal
    private(set) var checkpoint: String?
    private(set) var rows: [Key: RecordCopy] = [:]
    private(set) var completion: PullCompletion?
    private var staged: [Key: RecordCopy] = [:]
    private(set) var next: String?

    init(_ principal: Principal) { self.principal = principal }

    /// Where the pull that is under way goes on.
    var isUnderWay: Bool { next != nil }

    mutating func forget() {
        self = PlainDevice(principal)
    }

    /// The connection is gone: what the pages brought is too.
    mutating func abandon() { next = nil }

    /// One page; true where it was the last.
    mutating func step(_ world: SyncWorld, limit: Int? = nil, refetch: [String] = []) async throws -> Bool {
        if next == nil { staged = rows }
        let request = PullRequest(checkpoint: next ?? checkpoint, limit: limit, refetch: refetch)
        return take(try await world.page(request, for: principal))
    }

    mutating func pull(_ world: SyncWorld, limit: Int? = nil, refetch: [String] = []) async throws {
        var refetch = refetch
        while try await !step(world, limit: limit, refetch: refetch) { refetch = [] }
    }

    private mutating func take(_ page: PullPage) -> Bool {
        for scope in page.reset { staged = staged.filter { $0.key.collection != scope } }
        for operation in page.operations {
            let key = Key(collection: operation.collection, id: operation.id)
            switch operation.kind {
            case .put(let fields): staged[key] = RecordCopy(id: operation.id, rev: operation.rev, content: fields)
            case .remove: staged[key] = nil
            }
        }
        switch page.ending {
        case .next(let token):
            next = token
            return false
        case .complete(let done):
            let named = Set(done.scopes.map(\.scope))
            rows = staged.filter { named.contains($0.key.collection) }
            checkpoint = done.checkpoint
            completion = done
            next = nil
            return true
        }
    }

    func ids(in collection: String) -> Set<String> {
        Set(rows.keys.filter { $0.collection == collection }.map(\.id))
    }

    mutating func lose(_ id: String, in collection: String) { rows[Key(collection: collection, id: id)] = nil }

    /// Scopes whose checksums disagree with what is here.
    var disagreeing: [String] {
        (completion?.scopes ?? []).filter { scope in
            var checksum = ScopeChecksum()
            for (key, copy) in rows where key.collection == scope.scope {
                checksum.add(collection: key.collection, id: key.id, rev: copy.rev)
            }
            return checksum.count != scope.count || checksum.text != scope.checksum
        }.map(\.scope)
    }
}
