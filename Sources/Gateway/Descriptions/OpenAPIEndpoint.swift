import AdapterKit
import HTTPTypes
import ValueTree
import WireFormats

/// `GET /openapi.json`: written once at start; the declarations do not change while the gateway runs.
struct OpenAPIEndpoint: Endpoint {
    let properties = EndpointProperties(name: "openapi", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "This description.", tag: "Gateway", answers: [(.ok, .document(mediaType: "application/json"))])

    /// Nil until the routes are known, which this endpoint is one of.
    let text: LateValue<[UInt8]>

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard let body = text.value else { throw PorticoError(.stopping, "The gateway is not ready yet.") }
        return GatewayResponse(
            .ok, headers: [.contentType: "application/json", .cacheControl: "no-cache"], body: body)
    }
}
