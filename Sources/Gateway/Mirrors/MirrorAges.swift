import AdapterKit
import HTTPTypes
import MirrorEngine

extension [Mirror] {
    /// The age of the oldest, where all are fresh; nil where one is not and a read has to ask (``age()``).
    func freshAge() -> MirrorAge? {
        var oldest: MirrorAge?
        for mirror in self {
            guard let age = mirror.freshAge() else { return nil }
            if age.asOf.secondsSinceReferenceDate < oldest?.asOf.secondsSinceReferenceDate ?? .infinity { oldest = age }
        }
        return oldest
    }

    /// The age of the oldest, once those that are not fresh have been refreshed or waited for. Throws as ``Mirror/read()``
    /// does; nil: there are none.
    func age() async throws -> MirrorAge? {
        if count <= 1 { return try await first?.read() }
        return try await withThrowingTaskGroup(of: MirrorAge.self) { group in
            for mirror in self { group.addTask { try await mirror.read() } }
            var oldest: MirrorAge?
            for try await age in group {
                if age.asOf.secondsSinceReferenceDate < oldest?.asOf.secondsSinceReferenceDate ?? .infinity {
                    oldest = age
                }
            }
            return oldest
        }
    }
}

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
    let mirror: Mirror
    let properties: EndpointProperties

    init(_ mirror: Mirror, of served: ServedAdapter) {
        self.mirror = mirror
        properties = EndpointProperties(
            name: "\(mirror.id.adapter).mirrors.\(mirror.id.entity).refresh", access: served.access, effect: .writes,
            adapter: mirror.id.adapter, status: served.status)
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
