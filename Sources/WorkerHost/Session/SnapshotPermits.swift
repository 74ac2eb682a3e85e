import AdapterKit
import Synchronization

/// How many snapshots of the store all workers together have open, shared fairly by adapter (``FairSnapshotQueue``).
///
/// One for a store: what it gives out here is less than the store has, so that no worker keeps the gateway's own long reads
/// waiting. Safe to use from any task.
public final class SnapshotPermits: Sendable {
    private struct State {
        var queue: FairSnapshotQueue
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        /// Given a permit, or given up, before they had begun to wait.
        var early: [UInt64: Result<Void, any Error>] = [:]
        /// What ends those that have a permit.
        var endings: [UInt64: @Sendable () -> Void] = [:]
        var isWatched = false
    }

    /// How often it is looked for snapshots that are to end, while others wait.
    private static let pause = Duration.milliseconds(100)

    private let state: Mutex<State>

    /// `store`: how many such reads the store makes at once.
    public init(store: Int) {
        state = Mutex(State(queue: FairSnapshotQueue(permits: max(1, store / 2))))
    }

    /// The part that this adapter has in them.
    public func share(of adapter: AdapterName) -> SnapshotShare { SnapshotShare(permits: self, adapter: adapter) }

    /// Returns the number of a permit for a snapshot of this adapter. Throws `CancellationError` where the task is cancelled.
    func acquire(for adapter: AdapterName) async throws -> UInt64 {
        let (number, isAdmitted) = state.withLock { $0.queue.enter(adapter, at: .now) }
        if isAdmitted { return number }
        watch()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let early = state.withLock { state in
                    let early = state.early.removeValue(forKey: number)
                    if early == nil { state.waiters[number] = waiter }
                    return early
                }
                if let early { waiter.resume(with: early) }
            }
        } onCancel: {
            guard state.withLock({ $0.queue.giveUp(number) }) else { return }
            settle(number, .failure(CancellationError()))
        }
        return number
    }

    /// `end` is called where the permit is taken away. It returns at once.
    func end(_ number: UInt64, by end: @escaping @Sendable () -> Void) {
        state.withLock { $0.endings[number] = end }
    }

    func release(_ number: UInt64) {
        let admitted = state.withLock { state in
            state.endings[number] = nil
            return state.queue.release(number, at: .now)
        }
        for number in admitted { settle(number, .success(())) }
    }

    /// Snapshots that are open.
    public var open: Int { state.withLock { $0.queue.count } }

    private func settle(_ number: UInt64, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil { state.early[number] = result }
            return waiter
        }
        waiter?.resume(with: result)
    }

    /// Looks for snapshots that are to end, for as long as some wait.
    private func watch() {
        let begins = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched
        }
        guard begins else { return }
        Task.detached { [self] in
            while true {
                let endings = state.withLock { state -> [@Sendable () -> Void]? in
                    guard state.queue.hasWaiters else {
                        state.isWatched = false
                        return nil
                    }
                    return state.queue.ended(at: .now).compactMap { state.endings[$0] }
                }
                guard let endings else { return }
                for end in endings { end() }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }
}

/// One adapter's part in them.
public struct SnapshotShare: Sendable {
    let permits: SnapshotPermits
    let adapter: AdapterName
}

/// Which snapshots are open and which wait, in fair shares among adapters: a state machine.
///
/// An adapter has all permits but one at most, its *share*. Of those that wait, the adapter with the fewest is next, then the one
/// whose last came longest ago, then the one that came first. An adapter that has two more than the next one that waits loses
/// its oldest after a second; where that one has none, an adapter loses its only one after ten.
struct FairSnapshotQueue {
    /// How long an adapter keeps a second snapshot and further ones while another has fewer and waits.
    static let furtherKept = Duration.seconds(1)
    /// How long it keeps its only one.
    static let onlyKept = Duration.seconds(10)

    private struct Open {
        let adapter: AdapterName
        let since: ContinuousClock.Instant
        var isEnding = false
    }

    private struct AdapterTurns {
        var open = 0
        /// The first is the next.
        var waiting: [UInt64] = []
        /// When it got its last permit, in admissions.
        var served: UInt64 = 0
    }

    private let permits: Int
    private var open: [UInt64: Open] = [:]
    private var turns: [AdapterName: AdapterTurns] = [:]
    private var last: UInt64 = 0
    private var admissions: UInt64 = 0

    init(permits: Int) { self.permits = permits }

    private var share: Int { max(1, permits - 1) }

    var count: Int { open.count }

    var hasWaiters: Bool { turns.values.contains { !$0.waiting.isEmpty } }

    mutating func enter(_ adapter: AdapterName, at now: ContinuousClock.Instant) -> (number: UInt64, isAdmitted: Bool) {
        last += 1
        turns[adapter, default: AdapterTurns()].waiting.append(last)
        let number = last
        return (number, admit(at: now).contains(number))
    }

    /// Returns those that have a permit now.
    mutating func release(_ number: UInt64, at now: ContinuousClock.Instant) -> [UInt64] {
        guard let left = open.removeValue(forKey: number) else { return [] }
        turns[left.adapter]?.open -= 1
        defer { turns = turns.filter { $0.value.open > 0 || !$0.value.waiting.isEmpty } }
        return admit(at: now)
    }

    /// Whether it was still waiting; otherwise it has a permit and has to release it.
    mutating func giveUp(_ number: UInt64) -> Bool {
        for (adapter, turn) in turns {
            guard let position = turn.waiting.firstIndex(of: number) else { continue }
            turns[adapter]?.waiting.remove(at: position)
            return true
        }
        return false
    }

    /// Those that are to end now. Each is named until it is released.
    mutating func ended(at now: ContinuousClock.Instant) -> [UInt64] {
        var later = turns
        for snapshot in open.values where snapshot.isEnding { later[snapshot.adapter]?.open -= 1 }
        for _ in 0..<open.values.count(where: \.isEnding) { _ = admitNext(of: &later) }
        while let next = admitNext(of: &later) {
            let count = later[next.adapter]?.open ?? 1
            guard let victim = victim(for: count, later, at: now), let adapter = open[victim]?.adapter else { break }
            open[victim]?.isEnding = true
            later[adapter]?.open -= 1
        }
        return open.filter(\.value.isEnding).map(\.key)
    }

    /// For an adapter that would have so many then: the oldest of the adapter that has the most, if that is too many.
    private func victim(
        for count: Int, _ turns: [AdapterName: AdapterTurns], at now: ContinuousClock.Instant
    ) -> UInt64? {
        func open(_ snapshot: Open) -> Int { turns[snapshot.adapter]?.open ?? 0 }
        return self.open.filter { _, snapshot in
            let age = now - snapshot.since
            return !snapshot.isEnding
                && (open(snapshot) > count && age >= Self.furtherKept || count == 1 && age >= Self.onlyKept)
        }.max { (open($0.value), $1.value.since, $1.key) < (open($1.value), $0.value.since, $0.key) }?.key
    }

    private mutating func admit(at now: ContinuousClock.Instant) -> [UInt64] {
        var admitted: [UInt64] = []
        while open.count < permits, let next = admitNext(of: &turns) {
            admissions += 1
            turns[next.adapter]?.served = admissions
            open[next.number] = Open(adapter: next.adapter, since: now)
            admitted.append(next.number)
        }
        return admitted
    }

    /// Gives the next one a permit.
    private func admitNext(of turns: inout [AdapterName: AdapterTurns]) -> (adapter: AdapterName, number: UInt64)? {
        let next = turns.filter { !$0.value.waiting.isEmpty && $0.value.open < share }.min {
            ($0.value.open, $0.value.served, $0.value.waiting[0])
                < ($1.value.open, $1.value.served, $1.value.waiting[0])
        }
        guard let next else { return nil }
        turns[next.key]?.open += 1
        turns[next.key]?.waiting.removeFirst()
        return (next.key, next.value.waiting[0])
    }
}
