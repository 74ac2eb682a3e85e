import AdapterKit

/// A batch on its way: which of its steps are still to be made, and what has become of those before.
///
/// Stops at the first failure, unless the batch is to go on. JSON has an answer for each request all the same (`fillsUp`).
struct BatchExecution: Sendable {
    let run: BatchRun
    private let goesOn: Bool
    private let fillsUp: Bool
    private var steps: ArraySlice<BatchStep>
    private var progress: BatchProgress
    /// Behind the last step that may change something.
    private let readsFrom: Int

    init(_ steps: [BatchStep], _ run: BatchRun, goesOn: Bool, fillsUp: Bool) {
        self.steps = steps[...]
        (self.run, self.goesOn, self.fillsUp) = (run, goesOn, fillsUp)
        progress = BatchProgress(addresses: BatchAddresses(root: run.root))
        readsFrom = steps.lastIndex { !$0.isRead }.map { $0 + 1 } ?? 0
    }

    /// Whether nothing that is still to be made changes anything: then it may wait until somebody takes its answer.
    var onlyReads: Bool { steps.startIndex >= readsFrom }

    /// What the next step answers; nil at the end. A body may be one of pieces.
    /// Throws `CancellationError` where nobody waits for the answer any more.
    mutating func next() async throws -> BatchOutcome? {
        try Task.checkCancellation()
        guard let step = steps.popFirst() else { return nil }
        guard progress.hasFailed, !goesOn else { return await run.outcome(of: step, &progress) }
        return fillsUp ? BatchProgress.skipped(step) : nil
    }
}

extension BatchStep {
    fileprivate var isRead: Bool {
        if case .call(let call) = self { call.method == "GET" } else { false }
    }
}
