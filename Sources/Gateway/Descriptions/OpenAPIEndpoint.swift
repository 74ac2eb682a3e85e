import AdapterKit
import Crypto
import HTTPTypes
import ValueTree
import WireFormats

/// `GET /openapi.json`: written once at start; the declarations do not change while the gateway runs.
struct OpenAPIEndpoint: Endpoint {
    let properties = EndpointProperties(name: "openapi", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "This description.", tag: "Gateway", answers: [(.ok, .document(mediaType: "application/json"))])

    /// Nil until the routes are known, which this endpoint is one of.
    let text: DeferredValue<GatewayResponse>

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard let response = text.value else { throw PorticoError(.stopping, "The gateway is not ready yet.") }
        return response
    }

    /// With a tag of its bytes: they change with the configuration, whatever the gateway's version.
    static func response(_ text: [UInt8]) -> GatewayResponse {
        let tag = EntityTag(version: Hexadecimal.text(SHA256.hash(data: text).prefix(8)), variant: "json")
        return GatewayResponse(
            .ok, headers: [.contentType: "application/json", .cacheControl: "no-cache", .eTag: tag.text], body: text)
    }
}
