import AdapterKit
import HTTPTypes
import RecordStorage
import ValueTree

/// What the five endpoints of an entity's resource share.
struct EntityResource: Sendable {
    let served: ServedAdapter
    let entity: Entity
    let services: GatewayServices

    var collectionPath: String { "/api/v1/\(served.declaration.name)/\(entity.name)" }

    /// Of the adapter's records, for answers that are kept.
    var position: Revision { services.store.position(of: served.declaration.name) }

    func records(for caller: Caller) -> AdapterRecords {
        served.records(in: services.store, for: caller, naming: services.rights)
    }

    func properties(_ action: String, _ effect: Effect) -> EndpointProperties {
        EndpointProperties(
            name: "\(served.declaration.name).\(entity.name).\(action)",
            access: (effect == .writes ? entity.writers : entity.readers) ?? served.access, effect: effect,
            adapter: served.declaration.name, status: served.status)
    }

    func description(
        _ summary: String, _ answers: [(HTTPResponse.Status, EndpointDescription.Answer)], body: Bool = false,
        reads: Bool
    ) -> EndpointDescription {
        let common: Set<ErrorCode> = [
            .requestInvalid, .recordNotFound, .storeUnavailable, .adapterUnavailable,
        ]
        let writing: Set<ErrorCode> = [.recordExists, .recordConflict, .preconditionFailed, .storeFull, .csrfRequired]
        return EndpointDescription(
            summary: summary, tag: served.declaration.title, body: body ? entity.patchShape : nil,
            answers: answers.map { (status: $0.0, answer: $0.1) }, errors: reads ? common : common.union(writing))
    }

    /// The body's members, brought into the fields' types; the store checks them.
    func fields(_ request: AuthenticatedRequest) async throws -> WireDictionary {
        let body = try await services.bodies.value(of: request.request, limit: nil)
        guard let members = body.value.dictionaryValue else {
            throw PorticoError(.requestInvalid, "A record is a dictionary of fields.")
        }
        return body.coercion.coerce(members, to: entity.patchShape)
    }

    func id(_ request: AuthenticatedRequest) throws(PorticoError) -> RecordID {
        guard let id = RecordID(request.parameters["id"] ?? "") else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        return id
    }

    func answer(
        _ record: Record, to request: AuthenticatedRequest, status: HTTPResponse.Status = .ok,
        select: [FieldName]? = nil
    ) throws -> GatewayResponse {
        let fields = WireValue.dictionary(record.fields.selecting(select))
        var response = try services.answers.write(
            fields, to: request.request, presentation: Presentation(), status: status,
            validators: Validators(version: record.revision.description), isDone: request.request.method != .get)
        if status == .created {
            response.headers[.location] = "\(collectionPath)/\(PercentEncoding.encode(record.id.text))"
        }
        return response
    }
}

extension Entity {
    /// The fields without defaults and requirements: what a change may name.
    var patchShape: ObjectShape {
        ObjectShape(
            name.text, isOpen: true, members: fields.map { Member($0.name, $0.shape, isNullable: $0.isNullable) })
    }
}

extension Entity {
    var recordShape: Shape {
        .object(
            ObjectShape(
                name.text, members: fields.map { Member($0.name, $0.shape, isNullable: true, summary: $0.summary) }))
    }

    var pageShape: ObjectShape {
        ObjectShape(
            "\(name.text)Page",
            members: [
                Member("items", .list(of: recordShape), isRequired: true), Member("next", .string),
                Member("total", .integer),
            ])
    }
}

extension WireDictionary {
    func selecting(_ names: [FieldName]?) -> WireDictionary {
        guard let names else { return self }
        var selected = WireDictionary()
        for name in names { selected[name.text] = self[name.text] ?? .null }
        return selected
    }
}
