import AdapterKit
import RecordStorage
import SyncMessages

/// Answers pulls: what a device lacks, page by page, as a function of its checkpoint and the store in one snapshot.
///
/// A scope that a device does not have yet is walked in the order of its keys, each page at the moment of its request;
/// changes of rows that the walk has passed are sent before it goes on. So what has been sent is always the scope at the
/// page's moment, and a walk needs no snapshot that outlives a request.
public struct PullMachine: Sendable {
    let catalogue: SyncCatalogue
    let tokens: CheckpointTokens
    let limits: PullLimits

    /// `seal` authenticates the checkpoints; `epoch` is the store's.
    public init(
        catalogue: SyncCatalogue, epoch: Epoch, seal: any CheckpointSeal, limits: PullLimits = PullLimits()
    ) {
        self.catalogue = catalogue
        self.tokens = CheckpointTokens(seal: seal, epoch: epoch)
        self.limits = limits
    }

    /// Throws `sync.fetchAgain` for a checkpoint that cannot be gone on from, `request.invalid` for a collection that is
    /// not there. To be called within the snapshot's call.
    public func page(
        _ request: PullRequest, for caller: SyncCaller, at snapshot: any StoreSnapshot
    ) throws -> PullPage {
        try page(try prepared(request, for: caller), at: snapshot)
    }

    /// The request with what can be found out before the snapshot. Throws as ``page(_:for:at:)``.
    public func prepared(_ request: PullRequest, for caller: SyncCaller) throws(PorticoError) -> PreparedPull {
        var known: Checkpoint?
        if let token = request.checkpoint { known = try tokens.checkpoint(of: token, for: caller.principal) }
        return PreparedPull(request: request, caller: caller, known: known)
    }

    /// The reads that ``page(_:at:)`` makes in any case.
    public func reads(of pull: PreparedPull) -> [StoreRead] {
        guard let known = pull.known else { return [.replacements] }
        let mirrors = (try? wantedCollections(pull.request, known, for: pull.caller))?.filter(\.isMirror) ?? []
        let limit = min(limits.operations(asked: pull.request.limit), limits.scan)
        return [.replacements, .changes(after: known.position, limit: limit)] + mirrors.map { .mirrorState($0.id) }
    }

    /// The page of a prepared request. To be called within the snapshot's call.
    public func page(_ pull: PreparedPull, at snapshot: any StoreSnapshot) throws -> PullPage {
        let request = pull.request
        let start = try start(pull, at: snapshot)
        var run = PullPageBuilder(
            start.checkpoint, scopes: start.scopes, snapshot: snapshot, limits: limits,
            room: limits.operations(asked: request.limit))
        run.reset = start.reset
        run.describe = request.describe
        try run.catchUp()
        try run.walk()
        return try run.page(tokens)
    }

    /// Throws what ``page(_:for:at:)`` would throw for the request itself.
    public func check(_ request: PullRequest, for caller: SyncCaller, at snapshot: any StoreSnapshot) throws {
        _ = try start(try prepared(request, for: caller), at: snapshot)
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
        var scopes: [String: SyncScope]
        /// Scopes that the device is to empty first.
        var reset: [String]
    }

    private func start(_ pull: PreparedPull, at snapshot: any StoreSnapshot) throws -> Start {
        let (request, caller) = (pull.request, pull.caller)
        let known = try knownCheckpoint(pull, at: snapshot)
        var start = Start(checkpoint: known, scopes: [:], reset: [])
        start.checkpoint.scopes = []
        start.checkpoint.isNarrowed = request.collections != nil || known.isNarrowed
        let replacements = try snapshot.replacements()
        for collection in try wantedCollections(request, known, for: caller) {
            let scope = SyncScope(collection, for: caller, replacements: replacements)
            start.scopes[scope.name] = scope
            let before = known.scopes.first { $0.name == scope.name }
            let isKept = before?.fingerprint == scope.fingerprint && !request.refetch.contains(scope.name)
            if !isKept { start.reset.append(scope.name) }
            start.checkpoint.scopes.append(before.flatMap { isKept ? $0 : nil } ?? ScopeProgress(begin: scope))
        }
        return start
    }

    private func knownCheckpoint(_ pull: PreparedPull, at snapshot: any StoreSnapshot) throws(PorticoError)
        -> Checkpoint
    {
        guard let found = pull.known else {
            return Checkpoint(
                epoch: tokens.epoch, identity: pull.caller.principal.id, position: snapshot.position,
                isNarrowed: false, scopes: [])
        }
        guard found.position >= snapshot.floor else { throw .fetchAgain("The checkpoint is too old.") }
        guard found.position <= snapshot.position else { throw .fetchAgain("The checkpoint is ahead of the store.") }
        return found
    }

    /// The scopes that the request names, otherwise those of the checkpoint and, where it was not narrowed, all that the caller may
    /// read. A scope whose access is gone stays, empty: the device learns that it lost its rows.
    private func wantedCollections(
        _ request: PullRequest, _ known: Checkpoint, for caller: SyncCaller
    ) throws(PorticoError) -> [SyncCollection] {
        if let names = request.collections {
            for name in names where catalogue[name] == nil {
                throw PorticoError(
                    .requestInvalid, "There is no collection \(SyncCatalogue.shown(name)).", target: "collections")
            }
            return catalogue.collections.filter { names.contains($0.name) }
        }
        let had = Set(known.scopes.map(\.name))
        return catalogue.collections.filter { collection in
            had.contains(collection.name)
                || (!known.isNarrowed && collection.decision(for: caller, effect: .reads) == .allowed)
        }
    }
}

/// A pull whose checkpoint has been opened.
public struct PreparedPull: Sendable {
    let request: PullRequest
    let caller: SyncCaller
    /// Nil: the device has none.
    let known: Checkpoint?
}

/// The cost of one page, at most.
public struct PullLimits: Sendable, Equatable {
    /// `sync.limits.page`: operations in a page of which the device says nothing.
    public var page = 1_000
    /// `sync.limits.largestPage`: operations in a page, whatever the device asks for.
    public var largestPage = 10_000
    /// `sync.limits.pageBytes`: about how large a page's records are together; one record may be larger.
    public var pageBytes = 8 << 20
    /// `sync.limits.scan`: log entries that are looked at for one page.
    public var scan = 20_000
    /// `sync.limits.regrant`: rows that a change of a group's members moves within one page; more, and the scope is
    /// fetched again.
    public var regrant = 2_000

    /// The defaults.
    public init() {}

    func operations(asked: Int?) -> Int { min(max(asked ?? page, 1), largestPage) }
}
