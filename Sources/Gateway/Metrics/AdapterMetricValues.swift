import AdapterKit
import Synchronization
import Telemetry

/// Metrics that one adapter reports of itself, within bounds: what it says is not taken as it comes, since it may be a
/// program of others. Safe to use from any task.
final class AdapterMetricValues: Sendable {
    /// Names of counters and of gauges together.
    static let mostNames = 64
    static let nameBytes = 64

    private struct State {
        var counters: [String: Int64] = [:]
        var gauges: [String: (value: Double, generation: ObjectIdentifier)] = [:]
        var refusals: Set<String> = []
    }

    private let state = Mutex(State())

    /// The metrics that a generation of the adapter is given. Each reason for which a change is refused is logged once.
    func metrics(_ log: Log, of generation: ObjectIdentifier) -> AdapterMetrics {
        AdapterMetrics { change in
            guard let refusal = self.take(change, of: generation) else { return }
            log.warning(
                "adapter's metric is refused",
                [
                    "reason": .text(refusal),
                    "metric": .text(String(decoding: change.name.utf8.prefix(Self.nameBytes), as: UTF8.self)),
                ])
        }
    }

    /// Why the change is not made, where that is said for the first time.
    private func take(_ change: MetricChange, of generation: ObjectIdentifier) -> String? {
        state.withLock { state in
            guard let refusal = Self.refusal(of: change, state) else {
                Self.make(change, &state, of: generation)
                return nil
            }
            return state.refusals.insert(refusal).inserted ? refusal : nil
        }
    }

    private static func refusal(of change: MetricChange, _ state: State) -> String? {
        let isKnown: Bool
        switch change.action {
        case .increment(let amount):
            guard amount >= 0 else { return "A counter does not go down." }
            isKnown = state.counters[change.name] != nil
        case .set(let value):
            guard value.isFinite else { return "A gauge is a finite number." }
            isKnown = state.gauges[change.name] != nil
        }
        if isKnown { return nil }
        guard isName(change.name) else { return "A metric's name is [a-z][a-z0-9_]{0,63}." }
        guard state.counters.count + state.gauges.count < mostNames else {
            return "An adapter has at most \(mostNames) metrics."
        }
        return nil
    }

    private static func isName(_ name: String) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard let first = name.utf8.first, letters.contains(first), name.utf8.count <= nameBytes else { return false }
        return name.utf8.allSatisfy {
            letters.contains($0) || $0 == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }

    private static func make(_ change: MetricChange, _ state: inout State, of generation: ObjectIdentifier) {
        switch change.action {
        case .increment(let amount):
            let (sum, isTooMuch) = (state.counters[change.name] ?? 0).addingReportingOverflow(amount)
            state.counters[change.name] = isTooMuch ? .max : sum
        case .set(let value): state.gauges[change.name] = (value, generation)
        }
    }

    /// Forgets the last measurements of one generation; its counts stay.
    func forgetGauges(of generation: ObjectIdentifier) {
        state.withLock { state in state.gauges = state.gauges.filter { $0.value.generation != generation } }
    }

    func collect(of adapter: String, into samples: inout MetricSamples) {
        let (counters, gauges) = state.withLock { ($0.counters, $0.gauges.mapValues(\.value)) }
        for (name, value) in counters { samples.set(MetricCatalogue.adapterCounter, [adapter, name], value) }
        for (name, value) in gauges { samples.set(MetricCatalogue.adapterGauge, [adapter, name], value) }
    }
}
