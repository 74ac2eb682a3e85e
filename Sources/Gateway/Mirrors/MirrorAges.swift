import AdapterKit
import HTTPTypes
import MirrorEngine

extension MirrorAge {
    /// `Age` (RFC 9111) and `Cache-Status` (RFC 9211).
    func addFields(to response: inout GatewayResponse) {
        response.headers[.age] = String(seconds)
        response.headers[.cacheStatus] = cacheStatus
    }
}

extension HTTPField.Name {
    static let cacheStatus = HTTPField.Name("Cache-Status")!
}

/// `POST /api/v1/{adapter}/mirrors/{entity}/refresh`: the other system says that something has changed.
struct MirrorRefreshEndpoint: Endpoint {
    let mirror: ServedMirror
    let properties: EndpointProperties

    init(_ mirror: ServedMirror, of served: ServedAdapter) {
        self.mirror = mirror
        properties = EndpointProperties(
            name: "\(mirror.id.adapter).mirrors.\(mirror.id.entity).refresh",
            access: EndpointAccess([served.declaration.access.refreshing]), effect: .writes, adapter: mirror.id.adapter,
            status: served.status)
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: "Fetches \(mirror.id.entity) from \(mirror.source.upstream) again, soon.", tag: "Mirrors",
            answers: [(.accepted, .nothing)], errors: [.adapterUnavailable])
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        mirror.ask(by: .webhook)
        return GatewayResponse(.accepted)
    }
}
