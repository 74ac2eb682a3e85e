import CoreMetrics
import Telemetry
import Testing

@Suite struct MetricTests {
    private static let calls = MetricDefinition(
        "calls_total", .counter, "Calls.", labels: [.init("who", ""), .init("what", "")])
    private static let level = MetricDefinition("level", .gauge, "A level with a \\ and\na line.")
    private static let duration = MetricDefinition("duration_seconds", .histogram([0.1, 1]), "How long.")
    private let registry = MetricRegistry([calls, level, duration])

    @Test func `instruments of one name and the same labels share a value, whatever the labels' order`() {
        Counter(label: "calls_total", dimensions: [("who", "a"), ("what", "b")], factory: registry).increment(by: 2)
        Counter(label: "calls_total", dimensions: [("what", "b"), ("who", "a")], factory: registry).increment()
        #expect(registry.samples().value("calls_total", ["a", "b"]) == .number(3))
    }

    @Test func `what is not declared as it is used is not counted`() {
        Counter(label: "others_total", dimensions: [], factory: registry).increment()
        Counter(label: "calls_total", dimensions: [("who", "a")], factory: registry).increment()
        Counter(label: "calls_total", dimensions: [("who", "a"), ("why", "b")], factory: registry).increment()
        Counter(label: "level", dimensions: [], factory: registry).increment()
        Meter(label: "duration_seconds", dimensions: [], factory: registry).set(1)
        #expect(ExpositionFormat.prometheus.text(registry.samples(), of: registry.definitions).isEmpty)
    }

    @Test func `additions from many tasks are all counted`() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { [registry] in
                    for _ in 0..<1_000 {
                        Self.calls.counter(["a", "b"], in: registry).increment()
                        Self.duration.timer(in: registry).recordNanoseconds(50_000_000)
                    }
                }
            }
        }
        let samples = registry.samples()
        #expect(samples.value("calls_total", ["a", "b"]) == .number(8_000))
        let distribution = MetricDistribution(bounds: [0.1, 1], cumulativeCounts: [8_000, 8_000, 8_000], sum: 400)
        #expect(samples.value("duration_seconds") == .distribution(distribution))
    }

    @Test func `a value at a bound counts below it, and impossible values count as none`() {
        let histogram = Histogram([0.1, 1])
        for value in [0.1, 0.5, 1, 1.5, .infinity, .nan, -3, 1e300] { histogram.observe(value) }
        #expect(histogram.distribution.cumulativeCounts == [4, 6, 8])
        #expect(histogram.distribution.sum == 1_000_003.1)
    }

    @Test func `a collector takes the place of one with its name`() {
        registry.collect(as: "x") { $0.set(Self.level, 1) }
        registry.collect(as: "x") { $0.set(Self.level, 2.5) }
        #expect(registry.samples().value("level") == .number(2.5))
    }

    @Test func `the text format escapes and names as Prometheus reads it`() {
        Self.calls.counter(["a\"\\\n", "b"], in: registry).increment()
        registry.collect(as: "x") { $0.set(Self.level, Double.infinity) }
        Self.duration.timer(in: registry).recordNanoseconds(500_000_000)
        #expect(
            ExpositionFormat.prometheus.text(registry.samples(), of: registry.definitions) == """
                # HELP calls_total Calls.
                # TYPE calls_total counter
                calls_total{who="a\\"\\\\\\n",what="b"} 1
                # HELP level A level with a \\\\ and\\na line.
                # TYPE level gauge
                level +Inf
                # HELP duration_seconds How long.
                # TYPE duration_seconds histogram
                duration_seconds_bucket{le="0.1"} 0
                duration_seconds_bucket{le="1.0"} 1
                duration_seconds_bucket{le="+Inf"} 1
                duration_seconds_count 1
                duration_seconds_sum 0.5

                """)
    }

    @Test func `OpenMetrics names counters without their suffix and has an end`() {
        Self.calls.counter(["a", "b"], in: registry).increment()
        #expect(
            ExpositionFormat.openMetrics.text(registry.samples(), of: registry.definitions) == """
                # HELP calls Calls.
                # TYPE calls counter
                calls_total{who="a",what="b"} 1
                # EOF

                """)
    }

    @Test func `the catalogue follows Prometheus' rules for names`() {
        #expect(Set(MetricCatalogue.all.map(\.name)).count == MetricCatalogue.all.count)
        for metric in MetricCatalogue.all {
            #expect(metric.name.hasPrefix("portico_") || metric.name.hasPrefix("process_"))
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.help.hasSuffix("."), "\(metric.name)")
            #expect(Set(metric.labels.map(\.name)).isDisjoint(with: ["le", "quantile", "job", "instance"]))
        }
    }
}
