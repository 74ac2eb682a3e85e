import Telemetry

/// docs/metrics.md: every metric with its labels.
enum MetricReference {
    static var text: String {
        let rows = MetricCatalogue.all.map { metric in
            let labels = metric.labels.map { "`\($0.name)`: \($0.values)" }.joined(separator: "; ")
            return "| `\(metric.name)` | \(metric.kind.word) | \(labels) | \(metric.help) |"
        }
        return ([heading] + rows).joined(separator: "\n")
    }

    private static let heading = """
        # Metrics

        Printed by `portico reference metrics`; `make check` compares. `GET /metrics` of the admin socket answers them in Prometheus' text
        format, or as OpenMetrics where `Accept` prefers it; how to scrape them: [operating.md](operating.md#metrics). The dashboard
        and the alert rules in [`Deploy/`](../Deploy/README.md) use no others.

        The values of a label are bounded: they are names of the configuration, of declarations and of this table, and never what a
        caller sends. Requests to unknown paths are one series (`operation="none"`). A histogram has the series `_bucket`, `_count` and `_sum`.

        | metric | type | labels | meaning |
        |---|---|---|---|
        """
}
