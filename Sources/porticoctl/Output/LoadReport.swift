import Foundation
import ValueTree

/// What `GET /metrics` answered, by metric. Source: Prometheus' text-based exposition format, version 0.0.4.
struct MetricScrape: Sendable {
    struct Sample: Sendable, Equatable {
        let labels: [String: String]
        let value: Double
    }

    /// When it was asked for, in seconds of a steady clock.
    let time: Double
    private let samples: [String: [Sample]]

    /// Lines that are no samples are left out.
    init(_ text: String, at time: Double) {
        self.time = time
        var samples: [String: [Sample]] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let (name, sample) = Self.sample(line) else { continue }
            samples[name, default: []].append(sample)
        }
        self.samples = samples
    }

    subscript(name: String) -> [Sample] { samples[name] ?? [] }

    /// The sum of all series of which `isMeant` holds.
    func sum(_ name: String, where isMeant: ([String: String]) -> Bool = { _ in true }) -> Double {
        self[name].reduce(0) { isMeant($1.labels) ? $0 + $1.value : $0 }
    }

    private static func sample(_ line: Substring) -> (String, Sample)? {
        guard let end = line.lastIndex(of: " "), let value = Double(line[line.index(after: end)...]) else { return nil }
        let series = line[..<end]
        guard let open = series.firstIndex(of: "{"), series.hasSuffix("}") else {
            return (String(series), Sample(labels: [:], value: value))
        }
        var labels: [String: String] = [:]
        var rest = series[series.index(after: open)...]
        while let equals = rest.range(of: "=\"") {
            let name = rest[..<equals.lowerBound].drop { $0 == "," || $0 == " " }
            var text = ""
            var isEscaped = false
            rest = rest[equals.upperBound...]
            while let character = rest.popFirst(), isEscaped || character != "\"" {
                if isEscaped {
                    text.append(character == "n" ? "\n" : character)
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else {
                    text.append(character)
                }
            }
            labels[String(name)] = text
        }
        return (String(series[..<open]), Sample(labels: labels, value: value))
    }
}

/// What the gateway did between two scrapes, and what it has under way.
struct LoadReport: Sendable {
    private let before: MetricScrape
    private let now: MetricScrape

    init(from before: MetricScrape, to now: MetricScrape) {
        (self.before, self.now) = (before, now)
    }

    /// As `--output json` prints it. Rates are of a second, durations in milliseconds; null where nothing was measured.
    var value: WireValue {
        [
            "seconds": rounded(seconds), "requests": .dictionary(requests(of: nil)), "adapters": .array(adapters),
            "store": [
                "commits": rate("portico_store_commits_total"),
                "transactions": rate("portico_store_transactions_total"),
                "queued": count("portico_store_queued_transactions"), "reads": rate("portico_store_reads_total"),
                "commitP99": quantile(0.99, of: "portico_store_commit_duration_seconds") { _ in true },
            ],
            "sync": [
                "streams": count("portico_sync_streams"), "pulls": rate("portico_sync_pulls_total"),
                "pushes": rate("portico_sync_pushes_total"), "lag": count("portico_sync_lag_operations"),
            ],
            "upstreams": .array(upstreams),
            "process": [
                "memory": count("process_resident_memory_bytes"), "connections": count("portico_http_connections"),
                "processor": rate("process_cpu_seconds_total"), "files": count("process_open_fds"),
            ],
        ]
    }

    /// For a terminal.
    var text: String {
        let (value, adapterColumns) = (value, ["adapter", "rate", "errors", "p50", "p99", "state"])
        func line(_ name: String) -> String {
            let members = value[name]?.dictionaryValue ?? [:]
            let words = members.map { "\($0.key) \(Self.word($0.key, $0.value))" }
            return "\(name): \(words.joined(separator: "  "))"
        }
        var lines = ["requests", "store", "sync", "process"].map(line) + [""]
        lines.append(Table(columns: adapterColumns, rows: value["adapters"]?.arrayValue ?? []).text)
        if !upstreams.isEmpty {
            let columns = ["upstream", "rate", "errors", "p50", "p99", "inFlight", "queued", "open"]
            lines += ["", Table(columns: columns, rows: upstreams).text]
        }
        return lines.joined(separator: "\n")
    }

    private static func word(_ name: String, _ value: WireValue) -> String {
        guard name == "memory", let bytes = value.int64Value else { return value.word ?? "" }
        return "\(bytes >> 20) MiB"
    }

    private var seconds: Double { max(now.time - before.time, 0.001) }

    private func requests(of adapter: String?) -> WireDictionary {
        let isMeant = { (labels: [String: String]) in adapter.map { labels["adapter"] == $0 } ?? true }
        let total = "portico_http_requests_total"
        var members: WireDictionary = [
            "rate": rate(total, where: isMeant),
            "errors": rate(total) { isMeant($0) && ["4xx", "5xx"].contains($0["status"] ?? "") },
            "p50": quantile(0.5, of: "portico_http_request_duration_seconds", where: isMeant),
            "p99": quantile(0.99, of: "portico_http_request_duration_seconds", where: isMeant),
        ]
        if adapter == nil { members["inFlight"] = count("portico_http_requests_in_flight") }
        return members
    }

    private var adapters: [WireValue] {
        let up = now["portico_adapter_up"].reduce(into: [String: Bool]()) {
            $0[$1.labels["adapter"] ?? ""] = $1.value > 0
        }
        let disabled = Set(now["portico_adapter_disabled"].filter { $0.value > 0 }.compactMap { $0.labels["adapter"] })
        return (["gateway"] + up.keys.sorted()).map { name in
            let isRunning = up[name] ?? true
            var members: WireDictionary = ["adapter": .string(name)]
            for member in requests(of: name) { members[member.key] = member.value }
            members["state"] = .string(disabled.contains(name) ? "disabled" : isRunning ? "running" : "not running")
            return .dictionary(members)
        }
    }

    private var upstreams: [WireValue] {
        now["portico_upstream_requests_in_flight"].compactMap { $0.labels["upstream"] }.sorted().map { name in
            let isMeant = { (labels: [String: String]) in labels["upstream"] == name }
            let isFailure = { (result: String) in !["1xx", "2xx", "3xx", "4xx"].contains(result) }
            return [
                "upstream": .string(name), "rate": rate("portico_upstream_requests_total", where: isMeant),
                "errors": rate("portico_upstream_requests_total") { isMeant($0) && isFailure($0["result"] ?? "") },
                "p50": quantile(0.5, of: "portico_upstream_request_duration_seconds", where: isMeant),
                "p99": quantile(0.99, of: "portico_upstream_request_duration_seconds", where: isMeant),
                "inFlight": count("portico_upstream_requests_in_flight", where: isMeant),
                "queued": count("portico_upstream_queued_requests", where: isMeant),
                "open": count("portico_upstream_open_circuits", where: isMeant),
            ]
        }
    }

    private func count(_ name: String, where isMeant: ([String: String]) -> Bool = { _ in true }) -> WireValue {
        .int64(Int64(exactly: now.sum(name, where: isMeant).rounded()) ?? 0)
    }

    /// A counter that is smaller than before began anew.
    private func rate(_ name: String, where isMeant: ([String: String]) -> Bool = { _ in true }) -> WireValue {
        let (old, new) = (before.sum(name, where: isMeant), now.sum(name, where: isMeant))
        return rounded((new >= old ? new - old : new) / seconds)
    }

    /// In milliseconds, within its bucket in proportion, as Prometheus' `histogram_quantile` has it; null: nothing was
    /// observed meanwhile, or the value lies above all bounds.
    private func quantile(
        _ share: Double, of name: String, where isMeant: ([String: String]) -> Bool
    ) -> WireValue {
        func counts(_ scrape: MetricScrape) -> [Double: Double] {
            scrape["\(name)_bucket"].reduce(into: [:]) { counts, sample in
                guard isMeant(sample.labels), let text = sample.labels["le"] else { return }
                counts[text == "+Inf" ? .infinity : Double(text) ?? .infinity, default: 0] += sample.value
            }
        }
        let old = counts(before)
        let buckets = counts(now).map { (bound: $0.key, count: max(0, $0.value - (old[$0.key] ?? 0))) }
            .sorted { $0.bound < $1.bound }
        guard let total = buckets.last?.count, total > 0 else { return .null }
        var below = (bound: 0.0, count: 0.0)
        for bucket in buckets {
            if bucket.count >= share * total {
                guard bucket.bound.isFinite else { return .null }
                let part = (share * total - below.count) / max(bucket.count - below.count, 1)
                return rounded(1_000 * (below.bound + (bucket.bound - below.bound) * part))
            }
            below = bucket
        }
        return .null
    }

    private func rounded(_ value: Double) -> WireValue { .double((value * 100).rounded() / 100) }
}
