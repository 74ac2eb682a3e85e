import AdapterKit
import Synchronization

/// The answers of a batch's remaining reads, each made when those before it have been taken.
final class BatchPieces: DoorPieces {
    private struct State {
        var walk: BatchWalk
        var writer: any BatchWriter
        /// The body that is being sent.
        var open: (any DoorPieces)?
        var hasEnded = false
    }

    private let state: Mutex<State>

    init(_ walk: BatchWalk, _ writer: any BatchWriter) {
        state = Mutex(State(walk: walk, writer: writer))
    }

    func next() async throws -> [UInt8]? {
        if let open = state.withLock({ $0.open }) {
            if let piece = try await open.next() { return piece }
            return state.withLock { state in
                state.open = nil
                return state.writer.closing()
            }
        }
        var walk = state.withLock { $0.walk }
        guard !state.withLock({ $0.hasEnded }) else { return nil }
        let outcome = await walk.next()
        state.withLock { $0.walk = walk }
        guard let outcome else { return end { $0.writer.ending() } }
        return await bytes(of: outcome)
    }

    private func bytes(of outcome: BatchOutcome) async -> [UInt8] {
        guard case .reply(let reply) = outcome, case .pieces(let pieces) = reply.answer.body,
            let head = state.withLock({ $0.writer.opening(reply) })
        else {
            let whole = await state.withLock({ $0.walk.run }).gathered(outcome)
            return state.withLock { $0.writer.whole(whole) }
        }
        let isWanted = state.withLock { state in
            state.open = pieces
            return !state.hasEnded
        }
        if !isWanted { pieces.end() }
        return head
    }

    func end() { _ = end { _ in [] } }

    private func end(_ last: (inout State) -> [UInt8]) -> [UInt8] {
        let (bytes, open) = state.withLock { state in
            state.hasEnded = true
            return (last(&state), state.open)
        }
        open?.end()
        return bytes
    }
}
