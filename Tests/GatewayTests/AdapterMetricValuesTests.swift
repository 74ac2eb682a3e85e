import AdapterKit
import Synchronization
import Telemetry
import Testing

@testable import Gateway

/// An adapter may be a program of others, so what it says of its metrics is held to bounds.
@Suite struct `The metrics of an adapter` {
    private let values = AdapterMetricValues()

    private func metrics(_ lines: Lines = Lines(), of generation: Lines? = nil) -> AdapterMetrics {
        values.metrics(
            Log { message in lines.texts.withLock { $0.append(message) } }, of: ObjectIdentifier(generation ?? lines))
    }

    private func sample(_ values: AdapterMetricValues, _ metric: MetricDefinition, _ name: String) -> Double? {
        var samples = MetricSamples()
        values.collect(of: "notes", into: &samples)
        guard case .number(let number) = samples.value(metric.name, ["notes", name]) else { return nil }
        return number
    }

    @Test func `count up, and are set`() {
        let metrics = metrics()
        metrics.increment("imports")
        metrics.increment("imports", by: 4)
        metrics.set("queue_length", 3)
        metrics.set("queue_length", -2.5)
        #expect(sample(values, MetricCatalogue.adapterCounter, "imports") == 5)
        #expect(sample(values, MetricCatalogue.adapterGauge, "queue_length") == -2.5)
    }

    @Test func `are refused where they make no sense, with one line of the log for each reason`() {
        let lines = Lines()
        let metrics = metrics(lines)
        metrics.change(MetricChange("imports", .increment(7)))
        for _ in 0..<100 {
            metrics.change(MetricChange("imports", .increment(-1)))
            metrics.change(MetricChange("imports", .increment(.min)))
            for value in [Double.nan, .infinity, -.infinity] { metrics.change(MetricChange("length", .set(value))) }
            for name in ["", "Imports", "1st", "a-b", "a\n", "é", "a\u{301}", String(repeating: "a", count: 65)] {
                metrics.change(MetricChange(name, .increment(1)))
            }
        }
        metrics.change(MetricChange(String(repeating: "x", count: 10_000_000), .set(1)))
        #expect(sample(values, MetricCatalogue.adapterCounter, "imports") == 7)
        #expect(sample(values, MetricCatalogue.adapterGauge, "length") == nil)
        let texts = lines.texts.withLock { $0 }
        #expect(texts.count == 3)
        #expect(texts.allSatisfy { $0.values.allSatisfy { "\($0.value)".utf8.count < 200 } })
    }

    @Test func `are 64 at most, however many names there are, and the known ones go on`() {
        let metrics = metrics()
        for number in 0..<100_000 { metrics.change(MetricChange("n\(number)", .increment(1))) }
        metrics.change(MetricChange("gauge", .set(1)))
        metrics.change(MetricChange("n63", .increment(.max)))
        metrics.change(MetricChange("n63", .increment(.max)))
        #expect(sample(values, MetricCatalogue.adapterCounter, "n63") == Double(Int64.max))
        #expect(sample(values, MetricCatalogue.adapterCounter, "n64") == nil)
        #expect(sample(values, MetricCatalogue.adapterGauge, "gauge") == nil)
    }

    @Test func `are counted on by the next generation, and what the one before measured goes with it`() {
        let (first, second) = (Lines(), Lines())
        let (old, new) = (metrics(of: first), metrics(of: second))
        old.increment("imports", by: 3)
        old.set("length", 2)
        old.set("depth", 2)
        new.increment("imports")
        new.set("depth", 5)
        old.increment("imports", by: 10)
        values.forgetGauges(of: ObjectIdentifier(first))
        #expect(sample(values, MetricCatalogue.adapterCounter, "imports") == 14)
        #expect(sample(values, MetricCatalogue.adapterGauge, "length") == nil)
        #expect(sample(values, MetricCatalogue.adapterGauge, "depth") == 5)
    }
}

private final class Lines: Sendable {
    let texts = Mutex<[LogMessage]>([])
}
