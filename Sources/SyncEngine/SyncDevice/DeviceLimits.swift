/// How much a device does at once, and which collections it carries.
public struct DeviceLimits: Sendable, Equatable {
    /// Nil: every collection that the identity may see.
    public var collections: [String]?
    /// Operations in one page.
    public var pageOperations: Int
    /// Records that a pull gathers in memory before they are staged; of rows that are kept elsewhere.
    public var gatheredRecords: Int
    /// Mutations in one push.
    public var batchMutations: Int
    /// Edits that wait for an outcome.
    public var pendingEdits: Int
    /// Times that one pull fetches scopes again whose checksums disagree, before it gives up until the next one.
    public var refetches: Int
    /// The first pause after an answer that did not come, and the longest; it doubles in between.
    public var pauses: ClosedRange<Duration>

    public init(
        collections: [String]? = nil, pageOperations: Int = 500, gatheredRecords: Int = 2_000,
        batchMutations: Int = 100, pendingEdits: Int = 10_000, refetches: Int = 3,
        pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(300))
    ) {
        self.collections = collections
        self.pageOperations = pageOperations
        self.gatheredRecords = gatheredRecords
        self.batchMutations = batchMutations
        self.pendingEdits = pendingEdits
        self.refetches = refetches
        self.pauses = pauses
    }

    func pause(afterFailures failures: Int) -> Duration {
        min(pauses.upperBound, pauses.lowerBound * (1 << min(failures, 16)))
    }
}
