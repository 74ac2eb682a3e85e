import SyncMessages
import ValueTree

/// The pull under way: gathers its pages apart from the rows, verifies what they come to, and asks for more until every
/// scope agrees with its checksum. What it gathered is in memory, or staged where the rows are kept, and counts for this
/// pull alone: one that is cut off begins again from the last checkpoint applied.
struct Replica: Sendable {
    enum Step: Equatable {
        case ask(PullRequest)
        /// Whole and verified: to be applied together with the checkpoint.
        case apply(StagedRows, PullCompletion, startsOver: Bool)
        /// The server's checksums and its pages did not fit together, several times.
        case giveUp(scopes: [String])
    }

    private let limits: DeviceLimits
    private var staged = StagedRows()
    private var startsOver = false
    private var refetches = 0

    init(limits: DeviceLimits) {
        self.limits = limits
    }

    /// From the checkpoint; from nothing where it is nil.
    mutating func begin(from checkpoint: String?, over rows: ReplicaRows) -> PullRequest {
        staged = StagedRows()
        refetches = 0
        startsOver = checkpoint == nil
        if startsOver { for collection in rows.collections { staged.clear(collection) } }
        return request(checkpoint)
    }

    mutating func receive(_ page: PullPage, over rows: ReplicaRows) -> Step {
        for scope in page.reset { staged.clear(scope) }
        for operation in page.operations { staged.apply(operation, over: rows) }
        switch page.ending {
        case .next(let token): return .ask(request(token))
        case .complete(let completion): return verify(completion, over: rows)
        }
    }

    private mutating func verify(_ completion: PullCompletion, over rows: ReplicaRows) -> Step {
        let wrong = completion.scopes.filter { !staged.agrees($0, over: rows) }.map(\.scope)
        if wrong.isEmpty { return finish(completion, over: rows) }
        guard refetches < limits.refetches else { return .giveUp(scopes: wrong) }
        refetches += 1
        return .ask(request(completion.checkpoint, refetch: wrong))
    }

    private mutating func finish(_ completion: PullCompletion, over rows: ReplicaRows) -> Step {
        // What no scope counts any more is nobody's to keep.
        let named = Set(completion.scopes.map(\.scope))
        let touched = rows.collections.union(staged.collections)
        for collection in touched.subtracting(named) { staged.clear(collection) }
        // Not held any longer than needed: after a first sync it is everything there is.
        defer { staged = StagedRows() }
        return .apply(staged, completion, startsOver: startsOver)
    }

    /// What is to be staged now; nil: nothing yet.
    var piece: StagedPiece? { staged.changes.count >= limits.gatheredRecords ? staged.piece : nil }

    mutating func areStaged(by kept: any PersistedRows) {
        staged.areStaged(by: kept)
    }

    private func request(_ checkpoint: String?, refetch: [String] = []) -> PullRequest {
        PullRequest(
            checkpoint: checkpoint, collections: limits.collections, limit: limits.pageOperations, refetch: refetch)
    }
}
