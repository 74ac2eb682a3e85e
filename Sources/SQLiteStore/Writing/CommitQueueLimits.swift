/// How much may wait to be written.
public struct CommitQueueLimits: Sendable, Equatable {
    /// Transactions that wait at most.
    public var transactions: Int
    /// Changes that all waiting transactions have at most. A larger one is taken where nothing else waits.
    public var steps: Int
    /// Changes that one commit takes together, so that the first to come does not wait for all the others.
    public var stepsPerCommit: Int

    public init(transactions: Int = 4096, steps: Int = 200_000, stepsPerCommit: Int = 4096) {
        self.transactions = transactions
        self.steps = steps
        self.stepsPerCommit = stepsPerCommit
    }
}
