import AdapterKit
import Crypto
import HTTPTypes
import Synchronization
import ValueTree
import WireFormats

/// The descriptions of one set of routes, which do not change while it is served.
final class OpenAPIDocuments: Sendable {
    private let routes: [Route]
    private let catalogue: FormatCatalogue
    private let about: ServiceDescription
    private let inJSON: GatewayResponse
    /// Written when it is first asked for: few do, and it is the largest text of the gateway.
    private let inAllFormats = Mutex<GatewayResponse?>(nil)

    init(_ routes: [Route], catalogue: FormatCatalogue, about: ServiceDescription) throws {
        self.routes = routes
        self.catalogue = catalogue
        self.about = about
        var description = OpenAPI(catalogue: catalogue, about: about, hasAllFormats: false)
        inJSON = Self.response(try catalogue.json.write(description.document(routes)))
    }

    func response(hasAllFormats: Bool) throws -> GatewayResponse {
        guard hasAllFormats else { return inJSON }
        return try inAllFormats.withLock { known in
            if let known { return known }
            var description = OpenAPI(catalogue: catalogue, about: about, hasAllFormats: true)
            let written = Self.response(try catalogue.json.write(description.document(routes)))
            known = written
            return written
        }
    }

    /// With a tag of its bytes: they change with the configuration, whatever the gateway's version.
    private static func response(_ text: [UInt8]) -> GatewayResponse {
        let tag = EntityTag(version: Hexadecimal.text(SHA256.hash(data: text).prefix(8)), variant: "json")
        return GatewayResponse(
            .ok, headers: [.contentType: "application/json", .cacheControl: "no-cache", .eTag: tag.text], body: text)
    }
}

/// `GET /openapi.json`
struct OpenAPIEndpoint: Endpoint {
    let properties = EndpointProperties(name: "openapi", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "This description.", tag: "Gateway",
        parameters: [
            .query(
                "formats", .choice(["json", "all"]),
                "`all`: bodies and answers in every wire format, not in JSON alone.")
        ],
        answers: [(.ok, .document(mediaType: "application/json"))], errors: [.requestInvalid])

    /// Nil until the routes are known, which this endpoint is one of.
    let documents: DeferredValue<OpenAPIDocuments>

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard let documents = documents.value else { throw PorticoError(.stopping, "The gateway is not ready yet.") }
        switch request.request.target["formats"] {
        case nil, "json": return try documents.response(hasAllFormats: false)
        case "all": return try documents.response(hasAllFormats: true)
        default: throw PorticoError(.requestInvalid, "The formats are json or all.", target: "formats")
        }
    }
}
