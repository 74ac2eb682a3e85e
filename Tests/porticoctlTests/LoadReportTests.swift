import AdapterKit
import Testing

@testable import porticoctl

/// What `porticoctl top` makes of two scrapes.
@Suite struct LoadReportTests {
    private func scrape(_ requests: Int, _ failed: Int, at time: Double) -> MetricScrape {
        MetricScrape(
            """
            # HELP portico_http_requests_total Requests.
            # TYPE portico_http_requests_total counter
            portico_http_requests_total{adapter="users",operation="users.list",status="2xx"} \(requests)
            portico_http_requests_total{adapter="users",operation="users.list",status="5xx"} \(failed)
            portico_http_requests_total{adapter="gateway",operation="none",status="4xx"} 7
            portico_http_request_duration_seconds_bucket{adapter="users",operation="users.list",le="0.01"} \(requests)
            portico_http_request_duration_seconds_bucket{adapter="users",operation="users.list",le="0.1"} \(requests + failed)
            portico_http_request_duration_seconds_bucket{adapter="users",operation="users.list",le="+Inf"} \(requests + failed)
            portico_http_requests_in_flight 3
            portico_adapter_up{adapter="users"} 1
            portico_adapter_up{adapter="notes"} 0
            portico_adapter_disabled{adapter="users"} 1
            portico_upstream_requests_in_flight{upstream="hr \\"x\\""} 2
            process_resident_memory_bytes 1.048576e+08
            nonsense
            """, at: time)
    }

    private func report() -> LoadReport { LoadReport(from: scrape(100, 0, at: 10), to: scrape(190, 10, at: 12)) }

    @Test func `rates and durations are of the span between two scrapes`() {
        let value = report().value
        #expect(value["seconds"] == .double(2) && value["requests"]?["rate"] == .double(50))
        #expect(value["requests"]?["errors"] == .double(5) && value["requests"]?["inFlight"] == .int64(3))
        #expect(value["requests"]?["p50"] == .double(5.56) && value["requests"]?["p99"] == .double(91))
        #expect(value["process"]?["memory"] == .int64(104_857_600))
    }

    @Test func `adapters and upstreams have lines of their own`() {
        let value = report().value
        let adapters = value["adapters"]?.arrayValue ?? []
        #expect(adapters.map { $0["adapter"]?.stringValue } == ["gateway", "notes", "users"])
        #expect(adapters.map { $0["state"]?.stringValue } == ["running", "not running", "disabled"])
        #expect(adapters.last?["rate"] == .double(50) && adapters.first?["p50"] == .null)
        #expect(value["upstreams"]?.arrayValue?.first?["upstream"] == "hr \"x\"")
        #expect(value["upstreams"]?.arrayValue?.first?["inFlight"] == .int64(2))
        let text = report().text
        #expect(text.contains("memory 100 MiB") && text.contains("ADAPTER") && text.contains("disabled"))
    }

    @Test func `a gateway that began anew counts from zero, and nothing is divided by no time`() {
        let value = LoadReport(from: scrape(190, 10, at: 12), to: scrape(20, 0, at: 12)).value
        #expect(value["requests"]?["rate"]?.doubleValue ?? -1 >= 0)
        #expect(LoadReport(from: scrape(1, 0, at: 1), to: scrape(1, 0, at: 2)).value["requests"]?["p50"] == .null)
    }
}
