import AdapterKit
import RecordStorage
import SyncMessages

/// Answers pulls: what a device lacks, page by page, as a function of its checkpoint and the store at one moment.
///
/// A scope that a device does not have yet is walked in the order of its keys, each page at the moment of its request;
/// changes of rows that the walk has passed are told before it goes on. So what has been sent is always the scope at the
/// page's moment, and a walk needs no snapshot that outlives a request.
public struct PullMachine: Sendable {
    let catalogue: SyncCatalogue
    let tokens: CheckpointTokens
    let limits: PullLimits

    public init(
        catalogue: SyncCatalogue, epoch: Epoch, seal: any CheckpointSeal, limits: PullLimits = PullLimits()
    ) {
        self.catalogue = catalogue
        self.tokens = CheckpointTokens(seal: seal, epoch: epoch)
        self.limits = limits
    }

    /// Throws `sync.fetchAgain` for a checkpoint that cannot be gone on from, `request.invalid` for a collection that is
    /// not there. To be called within the moment's call.
    public func page(
        _ request: PullRequest, for caller: SyncCaller, at snapshot: any StoreSnapshot
    ) throws -> PullPage {
        let start = try start(request, for: caller, at: snapshot)
        var run = PageRun(
            start.checkpoint, scopes: start.scopes, snapshot: snapshot, limits: limits,
            room: limits.operations(asked: request.limit))
        run.reset = start.reset
        try run.catchUp()
        try run.walk()
        return run.page(tokens)
    }

    /// Throws what ``page(_:for:at:)`` would throw for the request itself.
    public func check(_ request: PullRequest, for caller: SyncCaller, at snapshot: any StoreSnapshot) throws {
        _ = try start(request, for: caller, at: snapshot)
    }

    /// The token of a checkpoint without scopes: it says where the log was, for those that compare.
    public func mark(_ position: Revision, for caller: SyncCaller) -> String {
        tokens.token(
            of: Checkpoint(
                epoch: tokens.epoch, identity: caller.principal.id, position: position, isNarrowed: false, scopes: []))
    }
}

extension PullMachine {
    private struct Start {
        var checkpoint: Checkpoint
        var scopes: [String: Scope]
        /// Scopes that the device is to empty first.
        var reset: [String]
    }

    private func start(
        _ request: PullRequest, for caller: SyncCaller, at snapshot: any StoreSnapshot
    ) throws(PorticoError) -> Start {
        let known = try known(request, for: caller, at: snapshot)
        var start = Start(checkpoint: known, scopes: [:], reset: [])
        start.checkpoint.scopes = []
        start.checkpoint.isNarrowed = request.collections != nil || known.isNarrowed
        for collection in try wanted(request, known, for: caller) {
            let scope = Scope(collection, for: caller)
            start.scopes[scope.name] = scope
            let before = known.scopes.first { $0.name == scope.name }
            let isKept = before?.fingerprint == scope.fingerprint && !request.refetch.contains(scope.name)
            if !isKept { start.reset.append(scope.name) }
            start.checkpoint.scopes.append(before.flatMap { isKept ? $0 : nil } ?? ScopeState(begin: scope))
        }
        return start
    }

    private func known(
        _ request: PullRequest, for caller: SyncCaller, at snapshot: any StoreSnapshot
    ) throws(PorticoError) -> Checkpoint {
        guard let token = request.checkpoint else {
            return Checkpoint(
                epoch: tokens.epoch, identity: caller.principal.id, position: snapshot.position, isNarrowed: false,
                scopes: [])
        }
        let found = try tokens.checkpoint(of: token, for: caller.principal)
        guard found.position >= snapshot.floor else { throw .fetchAgain("The checkpoint is too old.") }
        guard found.position <= snapshot.position else { throw .fetchAgain("The checkpoint is ahead of the store.") }
        return found
    }

    /// What the request names, otherwise what the checkpoint has and, where it was not narrowed, all that the caller may
    /// read. A scope whose access is gone stays, empty: the device learns that it lost its rows.
    private func wanted(
        _ request: PullRequest, _ known: Checkpoint, for caller: SyncCaller
    ) throws(PorticoError) -> [SyncCollection] {
        if let names = request.collections {
            for name in names where catalogue[name] == nil {
                throw PorticoError(.requestInvalid, "There is no collection of this name.", target: "collections")
            }
            return catalogue.collections.filter { names.contains($0.name) }
        }
        let had = Set(known.scopes.map(\.name))
        return catalogue.collections.filter { collection in
            had.contains(collection.name)
                || (!known.isNarrowed && collection.verdict(for: caller, effect: .reads) == .allowed)
        }
    }
}
