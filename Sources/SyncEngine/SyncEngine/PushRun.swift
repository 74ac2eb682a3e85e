import AdapterKit
import RecordStorage
import SyncMessages

/// A push from its first transaction to its last: which mutations the next one makes, whom to ask in between, and what
/// each mutation is answered. Does nothing itself.
///
///     var run = PushRun(plan)
///     while let part = run.next {
///         do { run.made(try await the transaction of part) } catch { try run.failed(error) }
///         if let question = run.question { run.decided(await the adapter's answer) }
///     }
///
/// What was made stays made, and is told again whenever the push is repeated. Where one mutation cannot be made now, it
/// and all behind it are answered `retry`: a later sequence number would overtake it for good.
public struct PushRun: Sendable {
    /// How often an adapter is asked about one mutation, whose record changes again each time meanwhile.
    public static let questionsOfOne = 4

    private let plan: PushPlan
    private var end: Int
    /// Why those from `end` on are to be sent again.
    private var delay: PorticoError?
    private var decisions: [Int64: Decision] = [:]
    private var asked = 0
    public private(set) var query: PendingConflict?
    private var settled: [MutationOutcome] = []
    private var isBegun = false

    public init(_ plan: PushPlan) {
        self.plan = plan
        end = plan.mutations.count
    }

    /// The mutations of the next transaction; nil: none is left. A push without mutations has one too, which finds out
    /// whose the client is.
    public var next: PushPlan? {
        guard settled.count < end || !isBegun else { return nil }
        var part = plan
        part.mutations = Array(plan.mutations[settled.count..<end])
        part.decisions = decisions
        return part
    }

    /// One for each mutation, once ``next`` is nil.
    public var outcomes: [MutationOutcome] {
        settled + plan.mutations[settled.count...].map { $0.delayed(by: delay) }
    }

    /// A transaction is durable.
    public mutating func made(_ progress: PushProgress) {
        isBegun = true
        if !progress.outcomes.isEmpty { asked = 0 }
        settled += progress.outcomes
        query = progress.query
        asked += 1
        if query != nil, asked > Self.questionsOfOne {
            stop(PorticoError(.overloaded, "The record changes too often to settle the conflict now."))
        }
    }

    /// An adapter has answered.
    public mutating func decided(_ result: Result<ConflictDecision, PorticoError>) {
        guard let query else { return }
        self.query = nil
        if case .failure(let error) = result, error.code.passes { return stop(error) }
        decisions[query.sequence] = Decision(revision: query.conflict.current.revision, result: result)
    }

    /// A transaction was undone. Throws the error where nothing of the push was made and nothing of it can be.
    public mutating func failed(_ error: any Error) throws {
        switch error {
        case let broken as PushBrokenOff where settled.count + broken.made > 0:
            end = settled.count + broken.made
            delay = broken.cause
        case let broken as PushBrokenOff: throw broken.cause
        case let error as PorticoError where error.code.passes && !settled.isEmpty: stop(error)
        default: throw error
        }
    }

    private mutating func stop(_ error: PorticoError) {
        query = nil
        end = settled.count
        delay = error
        isBegun = true
    }
}

extension Mutation {
    fileprivate func delayed(by error: PorticoError?) -> MutationOutcome {
        MutationOutcome(
            sequence: sequence, verdict: .retry, reason: (error?.code ?? .overloaded).rawValue,
            message: "The change cannot be made now.")
    }
}
