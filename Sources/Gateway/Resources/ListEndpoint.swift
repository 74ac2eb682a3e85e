import AdapterKit
import HTTPTypes
import RecordStorage
import ValueTree

/// `GET /api/v1/{adapter}/{entity}`: a page of records.
struct ListEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("list", .reads) }

    var description: EndpointDescription {
        var description = resource.description(
            "A page of records.", [(.ok, .value(.object(resource.entity.pageShape)))], reads: true)
        description.parameters = [
            .query("filter", .string, "Which records: `title eq 'x' and modified gt '2026-01-01T00:00:00Z'`."),
            .query("search", .string, "Words that the search fields contain."),
            .query("order", .string, "Fields by comma, `-` before one for descending."),
            .query("select", .string, "Fields by comma."),
            .query("limit", .integer(IntegerRange(1...Int64(resource.services.limits.page))), "Records of a page."),
            .query("cursor", .string, "The `next` of the page before."),
            .query("count", .bool, "Whether `total` is answered."),
        ]
        description.errors.formUnion([.cursorInvalid, .searchUnavailable, .requestLimitExceeded])
        return description
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let list = try ListQuery(request.request.target, entity: resource.entity, limits: resource.services.limits)
        let page = try await resource.records(for: request.caller).query(
            list.query, in: resource.entity.name, atMost: resource.services.limits.pageBytes)
        return try resource.services.answers.write(
            try value(page, list), to: request.request, presentation: Presentation(), validators: nil)
    }

    private func value(_ page: RecordPage, _ list: ListQuery) throws -> WireValue {
        var members: WireDictionary = [
            "items": .array(page.records.map { .dictionary($0.fields.selecting(list.select)) })
        ]
        if let next = page.next { members["next"] = .string(try CursorText.encode(next, for: list.query)) }
        if let total = page.total { members["total"] = .int64(Int64(total)) }
        return .dictionary(members)
    }
}
