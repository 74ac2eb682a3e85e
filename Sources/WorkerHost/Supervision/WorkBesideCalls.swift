import Synchronization

/// Whether a program is to work beside its calls, which holds for each of its processes, one after the other.
final class WorkBesideCalls: Sendable {
    private struct State {
        var isWanted = false
        /// The follower of the present session.
        var follower: AsyncStream<Bool>.Continuation?
        /// Callers that wait for the end of the work.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// Whether the program takes `activate` and `drain`; what another one does cannot be ended but with it.
    private let isTaken: Bool
    private let state = Mutex(State())

    init(isTaken: Bool) { self.isTaken = isTaken }

    /// It begins now, and in every process that comes.
    func begin() {
        state.withLock { state in
            state.isWanted = true
            state.follower?.yield(true)
        }
    }

    /// Returns when the program has ended it, or has ended itself. No process that comes begins it.
    func end() async {
        await withCheckedContinuation { continuation in
            let isWaitedFor = state.withLock { state in
                state.isWanted = false
                guard let follower = state.follower else { return false }
                state.waiting.append(continuation)
                follower.yield(false)
                return true
            }
            if !isWaitedFor { continuation.resume() }
        }
    }

    /// Tells the program of one session, which has started, until the task is cancelled.
    func follow(_ session: any WorkerSession) async {
        guard isTaken else { return }
        let (wishes, follower) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.follower = follower
            follower.yield(state.isWanted)
        }
        var isOn = false
        for await isWanted in wishes {
            if isWanted != isOn {
                // One that fails is followed by the session's end.
                do { try await session.switchWork(on: isWanted) } catch { break }
                isOn = isWanted
            }
            if !isWanted { resumeWaiting() }
        }
        state.withLock { $0.follower = nil }
        resumeWaiting()
    }

    private func resumeWaiting() {
        let waiting = state.withLock { state in
            guard !state.isWanted || state.follower == nil else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
