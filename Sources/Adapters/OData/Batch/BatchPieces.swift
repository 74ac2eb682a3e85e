import AdapterKit
import Synchronization

/// The answers of a batch's remaining reads, each made when those before it have been taken.
///
/// It owns the task that makes one: ``end()`` cancels it, and so does the time when all of them are to be taken.
final class BatchPieces: ByteStream {
    private struct State {
        var walk: BatchExecution
        var writer: any BatchWriter
        /// The body that is being sent.
        var open: (any ByteStream)?
        /// The request that is being answered.
        var step: Task<Step, any Error>?
        var hasEnded = false
    }

    private struct Step: Sendable {
        let walk: BatchExecution
        let outcome: BatchOutcome?
    }

    private let state: Mutex<State>
    private let deadline: ContinuousClock.Instant
    /// Pieces are asked for outside of the request's task.
    private let caller = CallerIdentity.current

    init(_ walk: BatchExecution, _ writer: any BatchWriter, until deadline: ContinuousClock.Instant) {
        state = Mutex(State(walk: walk, writer: writer))
        self.deadline = deadline
    }

    private static let tooLong = PorticoError(.deadlineExceeded, "The answer took too long to be taken.")

    func next() async throws -> [UInt8]? {
        if let open = state.withLock({ $0.open }) {
            if let piece = try await open.next() { return piece }
            return state.withLock { state in
                state.open = nil
                return state.writer.closing()
            }
        }
        guard let step = begin() else { return nil }
        let done = try await withTaskCancellationHandler {
            try await step.value
        } onCancel: {
            step.cancel()
        }
        state.withLock { ($0.walk, $0.step) = (done.walk, nil) }
        guard let outcome = done.outcome else { return end { $0.writer.ending() } }
        return await bytes(of: outcome)
    }

    private func begin() -> Task<Step, any Error>? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            let (walk, time, caller) = (state.walk, deadline - .now, caller)
            let step = Task {
                try await CallerIdentity.$current.withValue(caller) {
                    try await TimeLimit.run(time, late: Self.tooLong) {
                        var walk = walk
                        let outcome = try await walk.next()
                        return Step(walk: walk, outcome: outcome)
                    }
                }
            }
            state.step = step
            return step
        }
    }

    private func bytes(of outcome: BatchOutcome) async -> [UInt8] {
        guard case .reply(let reply) = outcome, case .stream(let pieces) = reply.answer.body,
            let head = state.withLock({ $0.writer.opening(reply) })
        else {
            if case .reply(let reply) = outcome, case .stream(let pieces) = reply.answer.body { open(pieces) }
            let whole = await state.withLock({ $0.walk.run }).gathered(outcome)
            return state.withLock { state in
                state.open = nil
                return state.writer.whole(whole)
            }
        }
        open(pieces)
        return head
    }

    /// From now on ``end()`` ends them.
    private func open(_ pieces: any ByteStream) {
        let isWanted = state.withLock { state in
            state.open = pieces
            return !state.hasEnded
        }
        if !isWanted { pieces.cancel() }
    }

    func cancel() { _ = end { _ in [] } }

    private func end(_ last: (inout State) -> [UInt8]) -> [UInt8] {
        let (bytes, open, step) = state.withLock { state in
            state.hasEnded = true
            defer { state.step = nil }
            return (last(&state), state.open, state.step)
        }
        open?.cancel()
        step?.cancel()
        return bytes
    }
}
