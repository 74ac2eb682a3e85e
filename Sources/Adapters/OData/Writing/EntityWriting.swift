import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataRecords
import WireFormats

/// Creates, changes and deletes entities (Protocol 4.01, section 11.4).
struct EntityWriting: Sendable {
    /// How often a change that counts itself is tried again when another one came between.
    static let attempts = 8

    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    private var creation: EntityCreation {
        EntityCreation(
            tables: tables, records: request.records, links: handler.links,
            discriminators: handler.service.configuration.discriminators, limits: handler.limits)
    }

    func create(in place: EntityCollectionPath) async throws -> MountResponse {
        let (created, payload) = try await insert(into: place)
        return try await answer(created, of: place.table, payload)
    }

    /// The entity that the body describes, once it is there.
    func insert(into place: EntityCollectionPath) async throws -> (KnownRecord, EntityPayload) {
        let table = place.table
        var changes = ChangeSet()
        var given: [FieldName: WireValue] = [:]
        var parent: (KnownRecord, RecordRelation)?
        if case .related(let source, let relation, _) = place.origin {
            let near = try await handler.finder.found(source)
            let known = KnownRecord(near.id, near.fields, of: source.table)
            given = EntityLinks.given(by: relation, from: known)
            parent = (known, relation)
        }
        let (payload, streams) = try self.payload(place)
        let created = try await creation.create(payload, in: table, given: given, streams: streams, &changes)
        if let (known, relation) = parent, case .links = relation {
            handler.links.link(known, to: created, by: relation, &changes)
        }
        try await apply(changes)
        return (created, payload)
    }

    /// The body as an entity, or for a media entity as its stream.
    private func payload(_ place: EntityCollectionPath) throws -> (EntityPayload, WireDictionary) {
        guard !request.sendsJSON, let stream = place.table.streams["$value"] else {
            return (try EntityPayload(json(), of: place.table, declared: place.type, model: tables.model), [:])
        }
        let type = request.headers["Content-Type"] ?? StreamHandler.standardType
        var payload = try EntityPayload([:], of: place.table, declared: place.type, model: tables.model)
        MediaDescription(type: type, name: request.headers["Slug"], size: request.body.count)
            .describe(&payload, model: tables.model)
        return (payload, [stream.content.text: .data(request.body), stream.mediaType.text: .string(type)])
    }

    private func answer(
        _ created: KnownRecord, of table: RecordTable, _ payload: EntityPayload
    ) async throws -> MountResponse {
        let place = EntityPlace(table: table, type: table.type, origin: .key(created.id))
        let address = request.root + table.source + table.keyPredicate(created.fields, model: tables.model)
        var headers: MountHeaders = ["Location": address]
        guard let record = try await handler.finder.record(place) else {
            // The same change set has deleted it again.
            return handler.answers.nothing(201, headers: headers)
        }
        if request.preferences.returned == .minimal {
            headers["OData-EntityId"] = address
            headers["Preference-Applied"] = "return=minimal"
            headers["ETag"] = EntityTag.text(record.revision)
            return handler.answers.nothing(headers: headers)
        }
        if request.preferences.returned != nil { headers["Preference-Applied"] = "return=representation" }
        return try await EntityReading(handler).representation(
            place, status: 201, headers: headers, expanding: NestedNames(payload, model: tables.model).option)
    }

    func change(_ place: EntityPlace, replacing: Bool) async throws -> MountResponse {
        let conditions = WriteConditions(request.headers)
        for attempt in 1...Self.attempts {
            guard let record = try await handler.finder.record(place) else {
                let id = try missing(place)
                try conditions.check(nil)
                return try await upsert(place, id)
            }
            try conditions.check(record)
            do {
                return try await change(record, at: place, replacing: replacing)
            } catch let error as PorticoError where error.code == .preconditionFailed && attempt < Self.attempts {
                // Another change came between. The caller's own condition is asked again.
                continue
            }
        }
        throw WriteConditions.failed
    }

    private func change(_ record: Record, at place: EntityPlace, replacing: Bool) async throws -> MountResponse {
        let declared = tables.model.structured(place.table.type(of: record)) ?? place.type
        let payload = try EntityPayload(json(), of: place.table, declared: declared, model: tables.model)
        // OData 4.0 has no entities within a change (Protocol 4.0, section 11.4.3.1).
        if request.headers["OData-Version"] == "4.0", let name = payload.nested.keys.min() ?? payload.deltas.keys.min()
        {
            throw PorticoError(
                .requestInvalid, "Entities nested in a change are taken from OData 4.01 on.", target: name)
        }
        var changes = ChangeSet()
        let update = EntityUpdate(
            tables: tables, records: request.records, links: handler.links, creation: creation)
        try await update.change(
            record, of: place.table, by: payload, replacing: replacing, if: .revision(record.revision), &changes)
        try await apply(changes)
        return try await changed(EntityPlace(table: place.table, type: place.table.type, origin: .key(record.id)))
    }

    /// After a change: nothing, unless the caller wants to see it.
    func changed(_ place: EntityPlace) async throws -> MountResponse {
        if request.preferences.returned == .representation {
            return try await EntityReading(handler).representation(
                place, status: 200, headers: ["Preference-Applied": "return=representation"])
        }
        let record = try await handler.finder.record(place)
        var headers: MountHeaders = [:]
        if let record { headers["ETag"] = EntityTag.text(record.revision) }
        if request.preferences.returned == .minimal { headers["Preference-Applied"] = "return=minimal" }
        return handler.answers.nothing(headers: headers)
    }

    /// The key to create what is not there under. Throws `record.notFound` where a change creates nothing: where the
    /// service makes the keys, and for media (Protocol 4.01, section 11.4.4). Conditions are not looked at then (RFC 9110,
    /// section 13.2.1).
    private func missing(_ place: EntityPlace) throws(PorticoError) -> RecordID {
        guard request.createsMissing, case .key(let id) = place.origin, !place.table.isSingleton,
            !place.table.makesKeys(tables.model), place.table.streams["$value"] == nil
        else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: place.table.source)
        }
        return id
    }

    private func upsert(_ place: EntityPlace, _ id: RecordID) async throws -> MountResponse {
        try handler.capable(place.table, .insert)
        let payload = try EntityPayload(json(), of: place.table, declared: place.type, model: tables.model)
        var changes = ChangeSet()
        let created = try await creation.create(payload, in: place.table, given: keyFields, id: id, &changes)
        try await apply(changes)
        return try await answer(created, of: place.table, payload)
    }

    func delete(_ place: EntityPlace) async throws -> MountResponse {
        let record = try await handler.finder.found(place)
        let conditions = WriteConditions(request.headers)
        try conditions.check(record)
        var changes = ChangeSet()
        let condition: RecordChange.Condition =
            request.headers["If-Match"] == nil ? .none : .revision(record.revision)
        changes.add(RecordChange(place.table.entity, .delete(record.id), if: condition))
        try await apply(changes)
        return handler.answers.nothing()
    }

    func apply(_ changes: ChangeSet) async throws {
        do {
            _ = try await request.records.apply(changes.changes)
        } catch let error as PorticoError where error.code == .recordExists {
            throw PorticoError(
                .recordExists, "There is an entity with this key or value already.", target: error.target)
        }
    }

    func json() throws -> WireValue {
        if let content = request.content { return content }
        guard request.sendsJSON else {
            throw PorticoError(.unsupportedMediaType, "The body can be sent as application/json.")
        }
        let body: WireValue
        do {
            body = try JSONFormat().read(request.body, limits: ReadingLimits())
        } catch {
            throw PorticoError(.requestMalformed, error.description)
        }
        if request.headers["OData-Version"] == "4.0" { try ControlNames.check(body) }
        return body
    }
}

extension EntityWriting {
    /// A key of several parts stands in the address only; a creation needs them as fields.
    private var keyFields: [FieldName: WireValue] {
        guard case .path(let segments) = request.target.resource,
            case .arguments(let arguments)? = segments.last?.form, case .named(let parts) = arguments,
            let name = segments.first?.name,
            let table = tables[name.name]
        else { return [:] }
        let reader = AddressReader(tables: tables, options: request.target.options)
        var values: [FieldName: WireValue] = [:]
        for part in parts {
            if let column = table.columns[part.name], let literal = reader.literal(part.value),
                let value = LiteralText(model: tables.model).value(literal, as: column.type)
            {
                values[column.field] = value
            }
        }
        return values
    }
}
