import AdapterKit
import AdapterProtocol
import Synchronization

/// Sends what an adapter counts, added up: at most 10 events each 100 ms, which is less than a host takes.
///
/// Nothing that was counted is lost while the process runs: what could not be sent is sent with the next. Safe to use
/// from any task.
final class MetricSender: Sendable {
    private struct Metric: Hashable {
        let name: String
        let isCounter: Bool
    }

    private struct State {
        var changes: [Metric: MetricChange.Action] = [:]
        /// Those of `changes`, each in its turn.
        var order: [Metric] = []
        /// Sends until nothing is left.
        var task: Task<Void, Never>?
        var isStopped = false
    }

    private static let interval = Duration.milliseconds(100)
    private static let eventsPerInterval = 10
    /// That wait at once: as many as a host takes.
    private static let mostMetrics = 64

    private let send: @Sendable (MetricChange) -> Bool
    private let state = Mutex(State())

    /// `send` says whether a change was sent.
    init(_ send: @escaping @Sendable (MetricChange) -> Bool) {
        self.send = send
    }

    func take(_ change: MetricChange) {
        state.withLock { state in
            guard !state.isStopped else { return }
            Self.add(change, to: &state)
            if state.task == nil { state.task = Task { await self.run() } }
        }
    }

    /// Sends all that waits, as far as it can be sent now.
    func flush() {
        for _ in 0..<Self.mostMetrics {
            guard sendNext() else { return }
        }
    }

    /// The connection has ended.
    func stop() {
        let task = state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.task
        }
        task?.cancel()
    }

    private func run() async {
        repeat {
            guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
            for _ in 0..<Self.eventsPerInterval {
                guard sendNext() else { break }
            }
        } while hasMore()
    }

    private func hasMore() -> Bool {
        state.withLock { state in
            if state.order.isEmpty { state.task = nil }
            return !state.order.isEmpty
        }
    }

    /// False where nothing waits, or nothing can be sent now.
    private func sendNext() -> Bool {
        let change = state.withLock { state -> MetricChange? in
            guard !state.order.isEmpty else { return nil }
            let metric = state.order.removeFirst()
            return state.changes.removeValue(forKey: metric).map { MetricChange(metric.name, $0) }
        }
        guard let change else { return false }
        // Not under the lock, since it may write to the socket.
        if send(change) { return true }
        state.withLock { state in
            guard !state.isStopped else { return }
            Self.add(change, to: &state, isOlder: true)
        }
        return false
    }

    private static func add(_ change: MetricChange, to state: inout State, isOlder: Bool = false) {
        let isCounter = if case .increment = change.action { true } else { false }
        let metric = Metric(name: change.name, isCounter: isCounter)
        switch (state.changes[metric], change.action) {
        case (nil, _):
            guard state.order.count < mostMetrics else { return }
            state.order.append(metric)
            state.changes[metric] = change.action
        case (.increment(let waiting), .increment(let amount)):
            let (sum, isTooMuch) = waiting.addingReportingOverflow(amount)
            state.changes[metric] = .increment(isTooMuch ? .max : sum)
        default:
            if !isOlder { state.changes[metric] = change.action }
        }
    }
}
