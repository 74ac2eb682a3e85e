import AdapterKit
import HTTPTypes
import RecordStorage
import ValueTree

/// `GET /api/v1/{adapter}/{entity}/{id}`
struct ReadEndpoint: Endpoint {
    let resource: EntityResource

    let properties: EndpointProperties

    init(resource: EntityResource) {
        self.resource = resource
        properties = resource.properties("read", .reads)
    }

    var description: EndpointDescription {
        resource.description("One record.", [(.ok, .value(resource.entity.recordShape))], reads: true)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let position = resource.position
        let found = try await resource.records(for: request.caller).record(
            resource.id(request), in: resource.entity.name)
        guard let found else { throw PorticoError(.recordNotFound, "There is no such record.") }
        var response = try resource.answer(found, to: request)
        if !hasRowRule, properties.access.decision(for: .anonymous, effect: .reads) == .allowed {
            response.allowSharing()
        }
        resource.services.cache.keep(response, for: key(request), at: position)
        return response
    }

    var mayRespondImmediately: Bool { true }

    func immediateResponse(to request: AuthenticatedRequest) -> CachedResponse? {
        resource.services.cache.answer(for: key(request), at: resource.position)
    }

    /// A row rule looks at the principal and at this adapter's records alone, so the same principal at the same position
    /// of the log sees the same.
    private func key(_ request: AuthenticatedRequest) -> ResponseCache.Key {
        ResponseCache.Key(
            properties.name, request.request, roles: nil, reader: hasRowRule ? request.caller.principal : nil, body: [])
    }

    private var hasRowRule: Bool { resource.entity.rows.read != .everyone }
}

/// `POST /api/v1/{adapter}/{entity}`
struct CreateEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("create", .writes) }

    var description: EndpointDescription {
        resource.description(
            "Creates a record.", [(.created, .value(resource.entity.recordShape))], body: true, reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let fields = try await resource.fields(request)
        let record = try await resource.records(for: request.caller).create(fields, in: resource.entity.name)
        return try resource.answer(record, to: request, status: .created)
    }
}

/// `PATCH /api/v1/{adapter}/{entity}/{id}`: the named fields; the others stay.
struct UpdateEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("update", .writes) }

    var description: EndpointDescription {
        resource.description(
            "Changes the named fields of a record.", [(.ok, .value(resource.entity.recordShape))], body: true,
            reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let condition = try Preconditions(request.request.headers).condition()
        let record = try await resource.records(for: request.caller).update(
            resource.id(request), try await resource.fields(request), in: resource.entity.name, if: condition)
        return try resource.answer(record, to: request)
    }
}

/// `PUT /api/v1/{adapter}/{entity}/{id}`: the whole record, created where it is not there and the caller may choose ids.
struct ReplaceEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("replace", .writes) }

    var description: EndpointDescription {
        resource.description(
            "Sets a whole record.",
            [(.ok, .value(resource.entity.recordShape)), (.created, .value(resource.entity.recordShape))], body: true,
            reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let id = try resource.id(request)
        let records = resource.records(for: request.caller)
        let existed = try await records.record(id, in: resource.entity.name) != nil
        let change = RecordChange(
            resource.entity.name,
            .replace(id, try await resource.fields(request), orCreate: resource.entity.key.chooser != .server),
            if: try Preconditions(request.request.headers).condition())
        guard let record = try await records.apply([change]).records.first ?? nil else {
            throw PorticoError(.serverInternal, "The record is not there after it was written.")
        }
        return try resource.answer(record, to: request, status: existed ? .ok : .created)
    }
}

/// `DELETE /api/v1/{adapter}/{entity}/{id}`
struct DeleteEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("delete", .writes) }

    var description: EndpointDescription {
        resource.description("Deletes a record.", [(.noContent, .nothing)], reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let condition = try Preconditions(request.request.headers).condition()
        try await resource.records(for: request.caller).delete(
            resource.id(request), in: resource.entity.name, if: condition)
        return GatewayResponse(.noContent)
    }
}
