import AdapterKit
import HTTPTypes
import NearestNames
import RecordStorage
import ValueTree

/// The common parts of the five endpoints of an entity's resource.
struct EntityResource: Sendable {
    let served: ServedAdapter
    let entity: Entity
    let services: GatewayServices

    var addresses: RecordAddresses { RecordAddresses(declaration: served.declaration, entity: entity) }

    func records(for request: AuthenticatedRequest) throws(PorticoError) -> AdapterRecords {
        try served.records(in: services.store, for: request, naming: services.rights, auditing: services.changes)
    }

    func properties(_ action: String, _ effect: Effect) -> EndpointProperties {
        EndpointProperties(
            name: "\(served.declaration.name).\(entity.name).\(action)",
            access: EndpointAccess([
                effect == .writes ? served.declaration.writers(of: entity) : served.declaration.readers(of: entity)
            ]), effect: effect,
            adapter: served.declaration.name, status: served.status,
            mirrors: served.mirrors(of: [entity.name]),
            subject: entity.name.text, writeRefusal: served.declaration.writeRefusal(of: entity.name))
    }

    func description(
        _ summary: String, _ answers: [(HTTPResponse.Status, EndpointDescription.Answer)], body: ObjectShape? = nil,
        conditions: [EndpointDescription.Parameter] = [], hasTag: Bool = true, reads: Bool
    ) -> EndpointDescription {
        let common: Set<ErrorCode> = [
            .requestInvalid, .recordNotFound, .storeUnavailable, .adapterUnavailable,
        ]
        var writing: Set<ErrorCode> = [.recordExists, .recordConflict, .preconditionFailed, .storeFull, .csrfRequired]
        let mirror = served.declaration.mirror(of: entity.name)
        if let mirror, mirror.writing != .none { writing.formUnion([.keyReused, .overloaded]) }
        if mirror?.writing == .through { writing.formUnion([.upstreamFailed, .upstreamOutcomeUnknown]) }
        return EndpointDescription(
            summary: summary, tag: served.declaration.title, parameters: conditions, body: body,
            answers: answers.map { (status: $0.0, answer: $0.1) }, tagsAnswers: hasTag,
            errors: reads ? common : common.union(writing),
            areFailuresOfKind: true)
    }

    /// The body's members, brought into the fields' types; the store checks them.
    func fields(_ request: AuthenticatedRequest) async throws -> WireDictionary {
        try await sentFields(request).fields
    }

    private func sentFields(_ request: AuthenticatedRequest) async throws -> (
        fields: WireDictionary, dates: CoarseDates?
    ) {
        let body = try await services.bodies.value(of: request.request, limit: nil)
        guard let members = body.value.dictionaryValue else {
            throw PorticoError(.requestInvalid, "A record is a dictionary of fields.")
        }
        try entity.checkKnown(members.keys)
        return (body.coercion.coerce(members, to: entity.patchShape), body.dates)
    }

    /// The same for a record that is there, perhaps. Its instants are kept where the caller's format has them no better.
    func fields(
        _ request: AuthenticatedRequest, changing id: RecordID, in records: AdapterRecords
    ) async throws -> WireDictionary {
        let (fields, dates) = try await sentFields(request)
        guard let dates, fields.hasDates, isReadable(by: request),
            let current = try await records.record(id, in: entity.name)
        else { return fields }
        return dates.restored(fields, from: current.fields)
    }

    func id(_ request: AuthenticatedRequest) throws(PorticoError) -> RecordID {
        guard let id = RecordID(request.parameters["id"] ?? "") else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        return id
    }

    /// Whether records can get another id here: another system chose their keys after they were created.
    private var canMove: Bool { (served.declaration.mirror(of: entity.name)?.writing ?? .none) != .none }

    /// The answer of the endpoints of one record of such an entity, where it has moved.
    var movedAnswers: [(HTTPResponse.Status, EndpointDescription.Answer)] {
        canMove ? [(.permanentRedirect, .nothing)] : []
    }

    /// Where the record is now that the request names by the id that it was created with, for a caller who may read it; nil
    /// where a record has this id, or none has moved.
    func redirectToMoved(_ request: AuthenticatedRequest) async throws -> GatewayResponse? {
        guard canMove, isReadable(by: request) else { return nil }
        let (id, records) = (try id(request), try records(for: request))
        guard try await records.record(id, in: entity.name) == nil else { return nil }
        let mirror = CollectionID(served.declaration.name, entity.name)
        guard let move = try await services.store.withReadSnapshot({ try $0.move(of: id, in: mirror) }),
            let record = try await records.record(move.to, in: entity.name)
        else { return nil }
        return GatewayResponse(
            .permanentRedirect, headers: [.location: addresses.record(record.id.text), .cacheControl: "no-store"])
    }

    /// Whether the caller may read the records: who may write them need not.
    func isReadable(by request: AuthenticatedRequest) -> Bool {
        served.declaration.readers(of: entity).decision(for: request.caller.principal) == .allowed
    }

    /// A change's answers, and that without the record where some of the writers may not read it.
    func changeAnswers(_ statuses: [HTTPResponse.Status]) -> [(HTTPResponse.Status, EndpointDescription.Answer)] {
        let declaration = served.declaration
        let areReaders = declaration.readers(of: entity).includes(declaration.writers(of: entity))
        return statuses.map { ($0, .value(entity.recordShape)) } + (areReaders ? [] : [(.noContent, .nothing)])
    }

    /// The record; nothing of it for a caller that may not read it.
    func response(
        _ record: Record, to request: AuthenticatedRequest, status: HTTPResponse.Status = .ok,
        select: [FieldName]? = nil
    ) throws -> GatewayResponse {
        guard isReadable(by: request) else {
            let tag = EntityTag(version: record.revision.description, variant: "none")
            var response = GatewayResponse(.noContent, headers: [.eTag: tag.text, .cacheControl: "no-store"])
            if status == .created { response.headers[.location] = addresses.record(record.id.text) }
            return response
        }
        let fields = WireValue.dictionary(record.fields.selecting(select))
        var response = try services.encoder.write(
            fields, to: request.request, presentation: Presentation(), status: status,
            validators: Validators(version: record.revision.description), isDone: request.request.method != .get,
            page: { links in
                SingleRecordPage(served: served, addresses: addresses, record: record, links: links).html
            })
        if status == .created {
            response.headers[.location] = addresses.record(record.id.text)
        }
        return response
    }
}

extension Entity {
    /// The fields without defaults and requirements: what a change may name.
    var patchShape: ObjectShape {
        ObjectShape(
            "\(name.text)Changes", isOpen: true,
            members: fields.map { Member($0.name, $0.shape, isNullable: $0.isNullable) })
    }

    /// The shape of a replacement; the path has the record's id.
    var replacementShape: ObjectShape {
        ObjectShape("\(name.text)Fields", isOpen: true, members: fields.map { field(in: $0, needsKey: false) })
    }

    /// The shape of a new record: as ``replacementShape``, with the id where the caller has to choose it.
    var creationShape: ObjectShape {
        guard key.chooser == .caller else { return replacementShape }
        return ObjectShape("\(name.text)Creation", isOpen: true, members: fields.map { field(in: $0, needsKey: true) })
    }

    private func field(in field: Field, needsKey: Bool) -> Member {
        let isCallers = field.source == .caller || field.source == .callerOnCreate
        let isNeeded = field.isRequired && field.defaultValue == nil && isCallers
        return Member(
            field.name, field.shape, isRequired: field.name == key.field ? needsKey : isNeeded,
            isNullable: field.isNullable)
    }
}

extension Entity {
    /// A record as it is read: with all its fields, and null where a record may be without the value.
    var recordShape: Shape { .object(ObjectShape(name.text, members: members(isRequired: true))) }

    /// A record of a page, which has the fields that `select` names.
    private var rowShape: Shape { .object(ObjectShape("\(name.text)Row", members: members(isRequired: false))) }

    private func members(isRequired: Bool) -> [Member] {
        fields.map {
            Member($0.name, $0.shape, isRequired: isRequired, isNullable: !hasValue($0), summary: $0.summary)
        }
    }

    /// Whether every record has a value of the field.
    private func hasValue(_ field: Field) -> Bool {
        let isFilled = field.isRequired || field.defaultValue.map { !$0.isNull } ?? false
        return field.name == key.field || isFilled && !field.isNullable
    }

    var pageShape: ObjectShape {
        ObjectShape(
            "\(name.text)Page",
            members: [
                Member("items", .list(of: rowShape), isRequired: true), Member("next", .string),
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

/// `GET /api/v1/{adapter}/{entity}/{id}`
struct ReadEndpoint: Endpoint {
    let resource: EntityResource

    let properties: EndpointProperties

    init(resource: EntityResource) {
        self.resource = resource
        properties = resource.properties("read", .reads)
    }

    var description: EndpointDescription {
        resource.description(
            "One record.", [(.ok, .value(resource.entity.recordShape))] + resource.movedAnswers,
            conditions: [.ifChanged], reads: true)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let key = request.cacheKey ?? key(request)
        let version = try await resource.services.version(of: resource.served.declaration.name)
        if let kept = resource.services.cache.response(for: key, at: version) { return kept.response }
        let found = try await resource.records(for: request).record(
            resource.id(request), in: resource.entity.name)
        guard let found else {
            if let moved = try await resource.redirectToMoved(request) { return moved }
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        var response = try resource.response(found, to: request)
        if !hasRowRule, properties.access.isPublic(.reads) {
            response.allowSharing()
        }
        resource.services.cache.keep(response, for: key, at: version)
        return response
    }

    func mirrors(of request: AuthenticatedRequest) -> ReadMirrors {
        (try? resource.id(request)).map { properties.mirrors.of($0) } ?? properties.mirrors
    }

    var mayRespondImmediately: Bool { true }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup {
        resource.services.lookUp(key(request), of: resource.served.declaration.name)
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
            "Creates a record.", resource.changeAnswers([.created]),
            body: resource.entity.creationShape, reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let fields = try await resource.fields(request)
        let record = try await resource.records(for: request).create(fields, in: resource.entity.name)
        return try resource.response(record, to: request, status: .created)
    }
}

/// `PATCH /api/v1/{adapter}/{entity}/{id}`: the named fields; the others stay.
struct UpdateEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("update", .writes) }

    var description: EndpointDescription {
        resource.description(
            "Changes the named fields of a record.", resource.changeAnswers([.ok]) + resource.movedAnswers,
            body: resource.entity.patchShape, conditions: [.ifMatch], reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        if let moved = try await resource.redirectToMoved(request) { return moved }
        let condition = try Preconditions(request.request.headers).condition()
        let (id, records) = (try resource.id(request), try resource.records(for: request))
        let record = try await records.update(
            id, try await resource.fields(request, changing: id, in: records), in: resource.entity.name,
            if: condition)
        return try resource.response(record, to: request)
    }
}

/// `PUT /api/v1/{adapter}/{entity}/{id}`: the whole record, created where it is not there and the caller may choose ids.
struct ReplaceEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("replace", .writes) }

    var description: EndpointDescription {
        resource.description(
            "Sets a whole record.", resource.changeAnswers([.ok, .created]) + resource.movedAnswers,
            body: resource.entity.replacementShape, conditions: [.ifMatch, .ifAbsent], reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        if let moved = try await resource.redirectToMoved(request) { return moved }
        let id = try resource.id(request)
        let records = try resource.records(for: request)
        let isReadable = resource.isReadable(by: request)
        let fields = try await resource.fields(request, changing: id, in: records)
        let existed = isReadable ? try await records.record(id, in: resource.entity.name) != nil : true
        let change = RecordChange(
            resource.entity.name,
            .replace(id, fields, orCreate: resource.entity.key.chooser != .server),
            if: try Preconditions(request.request.headers).condition())
        guard let record = try await records.apply([change]).records.first ?? nil else {
            throw PorticoError(.serverInternal, "The record is not there after it was written.")
        }
        return try resource.response(record, to: request, status: existed ? .ok : .created)
    }
}

/// `DELETE /api/v1/{adapter}/{entity}/{id}`
struct DeleteEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("delete", .writes) }

    var description: EndpointDescription {
        resource.description(
            "Deletes a record.", [(.noContent, .nothing)] + resource.movedAnswers, conditions: [.ifMatch],
            hasTag: false, reads: false)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        if let moved = try await resource.redirectToMoved(request) { return moved }
        let condition = try Preconditions(request.request.headers).condition()
        try await resource.records(for: request).delete(
            resource.id(request), in: resource.entity.name, if: condition)
        return GatewayResponse(.noContent)
    }
}

extension Entity {
    /// Throws `request.invalid` for a name that is no field, with the field that is meant: the store refuses it too, and knows none.
    func checkKnown(_ names: some Sequence<String>) throws(PorticoError) {
        for name in names where !fields.contains(where: { $0.name.text.hasSameBytes(as: name) }) {
            let shown = name.replacedForEveryFormat
            let near = NearestName.sentence(shown, among: fields.map(\.name.text))
            throw PorticoError(.requestInvalid, "\(self.name) has no field `\(shown)`.\(near)", target: shown)
        }
    }
}
