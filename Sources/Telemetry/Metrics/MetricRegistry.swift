import CoreMetrics
import Synchronization

/// The metrics of the process: a factory for swift-metrics that gives handlers of declared metrics only.
///
/// An instrument of an undeclared name does nothing, so that no library adds series without bounds. Two
/// instruments of one name with the same labels share their values. Instruments are made at the start, or at the first
/// use of a combination of labels; to use one takes atomic additions, without a lock or an allocation.
public final class MetricRegistry: Sendable {
    /// Adds what is measured when it is asked for.
    public typealias Collector = @Sendable (inout MetricSamples) -> Void

    /// The metrics that may be measured, in the order in which they are written.
    public let definitions: [MetricDefinition]
    private let byName: [String: MetricDefinition]
    private let state = Mutex(State())

    private struct State {
        var counters: [Series: CounterCell] = [:]
        var gauges: [Series: GaugeCell] = [:]
        var histograms: [Series: HistogramCell] = [:]
        var collectors: [String: Collector] = [:]
    }

    fileprivate struct Series: Hashable {
        let name: String
        let labels: [String]
    }

    /// For tests, other definitions than those of the catalogue. Of two with one name the first counts.
    public init(_ definitions: [MetricDefinition] = MetricCatalogue.all) {
        self.definitions = definitions
        byName = Dictionary(definitions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Asks `collector` at every scrape, on the task that answers it. It takes the place of one of the same name.
    public func collect(as name: String, _ collector: @escaping Collector) {
        state.withLock { $0.collectors[name] = collector }
    }

    /// Everything that is measured now.
    public func samples() -> MetricSamples {
        var samples = MetricSamples()
        let (instruments, collectors) = state.withLock { state in
            ((state.counters, state.gauges, state.histograms), state.collectors)
        }
        for (series, cell) in instruments.0 {
            guard let definition = byName[series.name] else { continue }
            samples.set(definition, series.labels, Double(cell.value))
        }
        for (series, cell) in instruments.1 {
            guard let definition = byName[series.name] else { continue }
            samples.set(definition, series.labels, cell.value)
        }
        for (series, cell) in instruments.2 {
            guard let definition = byName[series.name] else { continue }
            samples.set(definition, series.labels, cell.distribution)
        }
        for collector in collectors.values { collector(&samples) }
        return samples
    }

    /// The values of a definition's labels in their declared order; nil where they are not the declared ones.
    private func series(_ name: String, _ dimensions: [(String, String)]) -> Series? {
        guard let definition = byName[name], dimensions.count == definition.labels.count else { return nil }
        var values: [String] = []
        for label in definition.labels {
            guard let value = dimensions.first(where: { $0.0 == label.name })?.1 else { return nil }
            values.append(value)
        }
        return Series(name: name, labels: values)
    }
}

extension MetricRegistry: MetricsFactory {
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard let series = series(label, dimensions), byName[label]?.kind == .counter else {
            return NOOPMetricsHandler.instance
        }
        return state.withLock { state in
            if let known = state.counters[series] { return known }
            let cell = CounterCell()
            state.counters[series] = cell
            return cell
        }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        guard let series = series(label, dimensions), byName[label]?.kind == .gauge else {
            return NOOPMetricsHandler.instance
        }
        return state.withLock { state in
            if let known = state.gauges[series] { return known }
            let cell = GaugeCell()
            state.gauges[series] = cell
            return cell
        }
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        histogram(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramCell? {
        guard let series = series(label, dimensions), case .histogram(let bounds)? = byName[label]?.kind else {
            return nil
        }
        return state.withLock { state in
            if let known = state.histograms[series] { return known }
            let cell = HistogramCell(bounds)
            state.histograms[series] = cell
            return cell
        }
    }

    /// Values stay: an instrument of the same name goes on with them.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}
}

extension MetricDefinition {
    /// A counter of this definition. `values` are those of its labels, in their order.
    public func counter(_ values: [String] = [], in factory: any MetricsFactory) -> Counter {
        Counter(label: name, dimensions: dimensions(values), factory: factory)
    }

    /// A histogram of durations of this definition, in seconds.
    public func timer(_ values: [String] = [], in factory: any MetricsFactory) -> CoreMetrics.Timer {
        CoreMetrics.Timer(label: name, dimensions: dimensions(values), factory: factory)
    }

    /// A histogram of numbers of this definition.
    public func recorder(_ values: [String] = [], in factory: any MetricsFactory) -> Recorder {
        Recorder(label: name, dimensions: dimensions(values), aggregate: true, factory: factory)
    }

    private func dimensions(_ values: [String]) -> [(String, String)] {
        zip(labels, values).map { ($0.name, $1) }
    }
}

private final class CounterCell: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { count.store(0, ordering: .relaxed) }
}

private final class GaugeCell: MeterHandler {
    private let bits = Atomic<UInt64>(Double(0).bitPattern)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    func increment(by amount: Double) { add(amount) }
    func decrement(by amount: Double) { add(-amount) }

    private func add(_ amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let next = (Double(bitPattern: known) + amount).bitPattern
            let (isExchanged, original) = bits.weakCompareExchange(
                expected: known, desired: next, ordering: .relaxed)
            if isExchanged { return }
            known = original
        }
    }
}

private final class HistogramCell: TimerHandler, RecorderHandler {
    private let histogram: Histogram

    init(_ bounds: [Double]) {
        histogram = Histogram(bounds)
    }

    var distribution: MetricDistribution { histogram.distribution }

    func recordNanoseconds(_ duration: Int64) { histogram.observe(Double(duration) / 1e9) }
    func record(_ value: Int64) { histogram.observe(Double(value)) }
    func record(_ value: Double) { histogram.observe(value) }
}

/// Observations counted by upper bounds, across threads, without a lock.
public final class Histogram: Sendable {
    /// More bounds than any definition has; the last cell counts what is above all of them.
    private static let mostBounds = 20

    private let bounds: [Double]
    private let cells = InlineArray<21, Atomic<UInt64>> { _ in Atomic(0) }
    /// In billionths of the unit: an addition of whole numbers needs no loop.
    private let sum = Atomic<Int64>(0)

    /// Creates a histogram. Of more than 20 bounds the first 20 count.
    public init(_ bounds: [Double]) {
        self.bounds = Array(bounds.prefix(Self.mostBounds))
    }

    /// Counts one value. What is negative, infinite or no number counts as 0, what is above 10⁶ in the sum as 10⁶.
    public func observe(_ value: Double) {
        let value = value.isFinite ? max(0, value) : 0
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        cells[index].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(Int64(min(value, 1e6) * 1e9), ordering: .relaxed)
    }

    /// The observations so far.
    public var distribution: MetricDistribution {
        var counts: [UInt64] = []
        var total: UInt64 = 0
        for index in 0...bounds.count {
            total &+= cells[index].load(ordering: .relaxed)
            counts.append(total)
        }
        return MetricDistribution(
            bounds: bounds, cumulativeCounts: counts, sum: Double(sum.load(ordering: .relaxed)) / 1e9)
    }
}

/// The counts of a histogram.
public struct MetricDistribution: Sendable, Equatable {
    /// Upper bounds, in ascending order.
    public let bounds: [Double]
    /// The number of observations that were at most each bound; the last one: all.
    public let cumulativeCounts: [UInt64]
    /// The sum of all observations.
    public let sum: Double

    /// `cumulativeCounts` has one number more than `bounds`.
    public init(bounds: [Double], cumulativeCounts: [UInt64], sum: Double) {
        self.bounds = bounds
        self.cumulativeCounts = cumulativeCounts
        self.sum = sum
    }
}

/// The samples of a scrape: values by metric and labels.
public struct MetricSamples: Sendable {
    /// One value or distribution.
    public enum Value: Sendable, Equatable {
        case number(Double)
        case distribution(MetricDistribution)
    }

    private(set) var byName: [String: [[String]: Value]] = [:]

    /// No samples.
    public init() {}

    /// Sets a value. `labels` are the values of the definition's labels in their order; others are dropped.
    public mutating func set(_ definition: MetricDefinition, _ labels: [String], _ value: Double) {
        guard labels.count == definition.labels.count else { return }
        byName[definition.name, default: [:]][labels] = .number(value)
    }

    /// Sets a value that is counted.
    public mutating func set(_ definition: MetricDefinition, _ labels: [String], _ value: some BinaryInteger) {
        set(definition, labels, Double(value))
    }

    /// Sets a distribution.
    public mutating func set(
        _ definition: MetricDefinition, _ labels: [String], _ distribution: MetricDistribution
    ) {
        guard labels.count == definition.labels.count else { return }
        byName[definition.name, default: [:]][labels] = .distribution(distribution)
    }

    /// Sets the value of a metric without labels.
    public mutating func set(_ definition: MetricDefinition, _ value: some BinaryInteger) {
        set(definition, [], Double(value))
    }

    /// Sets the value of a metric without labels.
    public mutating func set(_ definition: MetricDefinition, _ value: Double) { set(definition, [], value) }

    /// Sets the distribution of a metric without labels.
    public mutating func set(_ definition: MetricDefinition, _ distribution: MetricDistribution) {
        set(definition, [], distribution)
    }

    /// All values of a metric, by the values of its labels.
    public func values(of definition: MetricDefinition) -> [[String]: Value] { byName[definition.name] ?? [:] }

    /// The value of a metric with these labels; nil: there is none.
    public func value(_ name: String, _ labels: [String] = []) -> Value? { byName[name]?[labels] }
}
