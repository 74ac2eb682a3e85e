import AdapterKit
import Admission
import DequeModule

/// Permits for the snapshots of the store that all workers together have open, shared fairly by adapter (``FairSnapshotQueue``).
///
/// One for a store: what it gives out here is less than the store has, so that no worker keeps the gateway's own long reads
/// waiting. Safe to use from any task.
public final class SnapshotPermits: Sendable {
    let queue: AdmissionQueue<FairSnapshotQueue>

    /// `store`: how many such reads the store makes at once.
    public init(store: Int) {
        queue = AdmissionQueue(FairSnapshotQueue(permits: max(1, store / 2)))
    }

    /// The part that this adapter has in them.
    public func share(of adapter: AdapterName) -> SnapshotShare { SnapshotShare(permits: self, adapter: adapter) }

    /// Snapshots that are open.
    public var open: Int { queue.counts.running }
}

/// One adapter's part in them.
public struct SnapshotShare: Sendable {
    let permits: SnapshotPermits
    let adapter: AdapterName
}

/// Which snapshots are open and which wait, in fair shares among adapters: a policy.
///
/// An adapter has all permits but one at most, its *share*. Of those that wait, the adapter with the fewest is next, then the one
/// whose last came longest ago, then the one that came first. An adapter that has two more than the next one that waits loses
/// its oldest after a second; where that one has none, an adapter loses its only one after ten.
struct FairSnapshotQueue: AdmissionPolicy {
    /// The time that an adapter keeps a second snapshot and further ones while another has fewer and waits.
    static let furtherKept = Duration.seconds(1)
    /// The time that it keeps its only one.
    static let onlyKept = Duration.seconds(10)
    /// The pause between two looks for snapshots that are to end, while others wait.
    private static let pause = Duration.milliseconds(100)

    private struct Open {
        let adapter: AdapterName
        let since: Instant
        var isEnding = false
    }

    private struct AdapterTurns {
        var open = 0
        /// The first is the next.
        var waiting: Deque<AdmissionTicket> = []
        /// When it got its last permit, in admissions.
        var served: UInt64 = 0
    }

    private let permits: Int
    private var open: [AdmissionTicket: Open] = [:]
    private var turns: [AdapterName: AdapterTurns] = [:]
    private var admissions: UInt64 = 0

    init(permits: Int) { self.permits = permits }

    private var share: Int { max(1, permits - 1) }

    var counts: AdmissionCounts {
        AdmissionCounts(running: open.count, waiting: turns.values.reduce(0) { $0 + $1.waiting.count })
    }

    mutating func arrive(
        _ adapter: AdapterName, as ticket: AdmissionTicket, at now: Instant
    ) -> AdmissionEntry<Void, PorticoError> {
        turns[adapter, default: AdapterTurns()].waiting.append(ticket)
        return .undecided
    }

    mutating func leave(_ adapter: AdapterName, as ticket: AdmissionTicket, _ end: Void, at now: Instant) {
        guard open.removeValue(forKey: ticket) != nil else { return }
        turns[adapter]?.open -= 1
        forget(adapter)
    }

    mutating func abandon(_ ticket: AdmissionTicket) {
        for adapter in turns.keys { turns[adapter]?.waiting.removeAll { $0 == ticket } }
        for adapter in turns.keys { forget(adapter) }
    }

    private mutating func forget(_ adapter: AdapterName) {
        if let turn = turns[adapter], turn.open == 0, turn.waiting.isEmpty { turns[adapter] = nil }
    }

    mutating func next(at now: Instant) -> AdmissionDecision<Void, PorticoError>? {
        guard open.count < permits, let next = admitNext(of: &turns) else { return nil }
        admissions += 1
        turns[next.adapter]?.served = admissions
        open[next.ticket] = Open(adapter: next.adapter, since: now)
        return .admit(next.ticket, ())
    }

    func nextRevocation(after now: Instant) -> Instant? {
        turns.values.contains { !$0.waiting.isEmpty } ? now + Self.pause : nil
    }

    /// The snapshots that are to end now. Each is named until it is released.
    mutating func takeRevoked(at now: Instant) -> [AdmissionTicket] {
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
        for count: Int, _ turns: [AdapterName: AdapterTurns], at now: Instant
    ) -> AdmissionTicket? {
        func open(_ snapshot: Open) -> Int { turns[snapshot.adapter]?.open ?? 0 }
        return self.open.filter { _, snapshot in
            let age = now - snapshot.since
            return !snapshot.isEnding
                && (open(snapshot) > count && age >= Self.furtherKept || count == 1 && age >= Self.onlyKept)
        }.max { (open($0.value), $1.value.since, $1.key) < (open($1.value), $0.value.since, $0.key) }?.key
    }

    /// Gives the next one a permit.
    private func admitNext(of turns: inout [AdapterName: AdapterTurns]) -> (
        adapter: AdapterName, ticket: AdmissionTicket
    )? {
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
