import AdapterKit
import Synchronization
import Telemetry
import ValueTree

/// The figures of the last fifteen minutes, five seconds apart: a state machine over what the metrics are.
struct FigureSeries: Sendable {
    static let interval = Duration.seconds(5)
    /// Fifteen minutes.
    static let most = 180
    /// Operators' own requests, which are not counted.
    private static let own = ["admin.", "console."]

    /// Answers of one adapter within an interval; `gateway`: the gateway itself.
    struct Requests: Sendable, Equatable {
        var requests = 0.0
        /// Answers with a status of 500 and more.
        var errors = 0.0
        /// Seconds; nil: nothing was timed.
        var median: Double?
        var slowest: Double?
    }

    struct Point: Sendable {
        let number: Int64
        let time: WireDate
        let adapters: [String: Requests]
        let streams: Double
        let devices: Int
        let commits: Double
        /// Bytes.
        let memory: Double
        /// Processors.
        let load: Double
    }

    /// Counters as they were when the last point was made.
    private struct Counters: Sendable {
        var time: WireDate
        var requests: [String: Double] = [:]
        var errors: [String: Double] = [:]
        /// By adapter; what is at most each bound.
        var durations: [String: [UInt64]] = [:]
        var commits = 0.0
        var seconds = 0.0
    }

    private(set) var points: [Point] = []
    private var last: Counters?
    private var count: Int64 = 0

    /// Counters that have begun anew count from 0. The first samples give no point.
    mutating func add(_ samples: MetricSamples, devices: Int, at now: WireDate) {
        let counters = Self.counters(samples, at: now)
        defer { last = counters }
        guard let last else { return }
        let span = max(1, now.secondsSinceReferenceDate - last.time.secondsSinceReferenceDate)
        var adapters: [String: Requests] = [:]
        for (adapter, total) in counters.requests {
            let durations = Self.difference(counters.durations[adapter] ?? [], last.durations[adapter] ?? [])
            adapters[adapter] = Requests(
                requests: Self.difference(total, last.requests[adapter]) / span,
                errors: Self.difference(counters.errors[adapter] ?? 0, last.errors[adapter]) / span,
                median: Self.quantile(0.5, of: durations), slowest: Self.quantile(0.99, of: durations))
        }
        count += 1
        points.append(
            Point(
                number: count, time: now, adapters: adapters,
                streams: Self.number(samples.value(MetricCatalogue.streams.name)), devices: devices,
                commits: Self.difference(counters.commits, last.commits) / span,
                memory: Self.number(samples.value(MetricCatalogue.residentMemory.name)),
                load: Self.difference(counters.seconds, last.seconds) / span))
        if points.count > Self.most { points = Array(points.suffix(Self.most)) }
    }

    private static func counters(_ samples: MetricSamples, at now: WireDate) -> Counters {
        var counters = Counters(time: now)
        for (labels, value) in samples.values(of: MetricCatalogue.requests) {
            guard let adapter = adapter(labels), let status = labels.last else { continue }
            counters.requests[adapter, default: 0] += number(value)
            if status == "5xx" { counters.errors[adapter, default: 0] += number(value) }
        }
        for (labels, value) in samples.values(of: MetricCatalogue.requestDuration) {
            guard let adapter = adapter(labels), case .distribution(let found) = value else { continue }
            let known = counters.durations[adapter] ?? [UInt64](repeating: 0, count: found.cumulativeCounts.count)
            counters.durations[adapter] = zip(known, found.cumulativeCounts).map { $0 &+ $1 }
        }
        counters.commits = number(samples.value(MetricCatalogue.commits.name))
        counters.seconds = number(samples.value(MetricCatalogue.cpu.name))
        return counters
    }

    /// Nil for operators' own requests.
    private static func adapter(_ labels: [String]) -> String? {
        guard labels.count > 1, !own.contains(where: { labels[1].hasPrefix($0) }) else { return nil }
        return labels[0]
    }

    private static func number(_ value: MetricSamples.Value?) -> Double {
        if case .number(let number)? = value { number } else { 0 }
    }

    private static func difference(_ now: Double, _ before: Double?) -> Double {
        let before = before ?? 0
        return now >= before ? now - before : now
    }

    private static func difference(_ now: [UInt64], _ before: [UInt64]) -> [UInt64] {
        guard before.count == now.count else { return now }
        return zip(now, before).map { $0 >= $1 ? $0 - $1 : $0 }
    }

    /// Within its bucket as if all were spread evenly; the last bound for what is above it.
    static func quantile(_ share: Double, of cumulative: [UInt64]) -> Double? {
        let bounds = MetricDefinition.requestBounds
        guard let total = cumulative.last, total > 0, cumulative.count == bounds.count + 1 else { return nil }
        let wanted = share * Double(total)
        guard let index = cumulative.firstIndex(where: { Double($0) >= wanted }), index < bounds.count else {
            return bounds.last
        }
        let (lower, below) = index == 0 ? (0, 0) : (bounds[index - 1], Double(cumulative[index - 1]))
        let within = Double(cumulative[index]) - below
        return within > 0 ? lower + (bounds[index] - lower) * (wanted - below) / within : bounds[index]
    }
}

/// Executes ``FigureSeries`` over a registry, and counts the devices now and then.
public final class FigureHistory: Sendable {
    /// Between two counts of the devices, in points.
    private static let deviceInterval = 12

    private let registry: MetricRegistry
    private let clock: any WallClock
    private let countDevices: @Sendable () async throws -> Int
    private let series = Mutex(FigureSeries())

    /// `devices`: how many are known.
    public init(_ registry: MetricRegistry, clock: any WallClock, devices: @escaping @Sendable () async throws -> Int) {
        (self.registry, self.clock, countDevices) = (registry, clock, devices)
    }

    /// Adds points until the task is cancelled.
    public func run() async {
        var (turn, devices) = (0, 0)
        repeat {
            if turn % Self.deviceInterval == 0 {
                devices = (try? await countDevices()) ?? devices
            }
            turn += 1
            let (samples, now, known) = (registry.samples(), clock.now(), devices)
            series.withLock { $0.add(samples, devices: known, at: now) }
        } while (try? await Task.sleep(for: FigureSeries.interval)) != nil
    }

    /// The points after number `after`.
    func points(after: Int64) -> [FigureSeries.Point] {
        series.withLock { $0.points.filter { $0.number > after } }
    }
}
