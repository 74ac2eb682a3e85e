import AdapterKit
import HTTPTypes
import Identity
import Telemetry
import WireFormats

/// `GET /metrics` of the admin socket and the admin listener: everything that is measured, as Prometheus reads it.
struct MetricsEndpoint: Endpoint {
    let registry: MetricRegistry
    let properties = EndpointProperties(name: "admin.metrics", access: .login, effect: .reads, adminRole: .viewer)
    let description = EndpointDescription(
        summary: "What is measured, as Prometheus reads it.", tag: "Administration",
        answers: [(.ok, .document(mediaType: "text/plain"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let format = ExpositionFormat(accept: request.request.headers.text(.accept))
        let text = format.text(registry.samples(), of: registry.definitions)
        return GatewayResponse(
            .ok, headers: [.contentType: format.mediaType, .cacheControl: "no-store", .vary: "Accept"],
            body: Array(text.utf8))
    }
}

extension ExpositionFormat {
    /// OpenMetrics where the scraper prefers it; else, and without a preference, the older format, which everything reads.
    init(accept: String?) {
        let ranges = MediaRange.list(accept ?? "")
        func quality(_ type: String, _ subtype: String) -> Int {
            ranges.filter { $0.type.type == type && $0.type.subtype == subtype }.map(\.quality).max() ?? 0
        }
        let openMetrics = quality("application", "openmetrics-text")
        self = openMetrics > 0 && openMetrics >= quality("text", "plain") ? .openMetrics : .prometheus
    }
}
