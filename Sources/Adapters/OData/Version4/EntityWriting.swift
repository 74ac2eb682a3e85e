import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel
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

    func create(in collectionPath: EntityCollectionPath) async throws -> MountResponse {
        let (created, payload) = try await insert(into: collectionPath) { payload in
            try await checkAnswer(of: collectionPath.table, payload)
        }
        return try await answer(created, of: collectionPath.table, payload)
    }

    /// Throws where the caller may not read what the answer to a creation shows.
    private func checkAnswer(of table: RecordTable, _ payload: EntityPayload) async throws {
        guard request.preferences.returned != .minimal else { return }
        try await EntityReading(handler).checkRepresentation(
            of: table, expanding: NestedNames(payload, model: tables.model).option)
    }

    /// The entity that the body describes, once it is there. `check` is asked before anything is changed.
    func insert(
        into collectionPath: EntityCollectionPath, _ check: (EntityPayload) async throws -> Void
    ) async throws -> (RecordReference, EntityPayload) {
        let table = collectionPath.table
        var changes = ChangeSet()
        var given: [FieldName: WireValue] = [:]
        var parent: (RecordReference, RecordRelation)?
        if case .related(let source, let relation, _) = collectionPath.origin {
            let near = try await handler.finder.found(source)
            let known = RecordReference(near.id, near.fields, of: source.table)
            given = EntityLinks.given(by: relation, from: known)
            parent = (known, relation)
        }
        let (payload, streams) = try self.payload(collectionPath)
        try await check(payload)
        let created = try await creation.create(payload, in: table, given: given, streams: streams, &changes)
        if let (known, relation) = parent, case .links = relation {
            handler.links.link(known, to: created, by: relation, &changes)
        }
        let receipt = try await apply(changes)
        // What another system chooses as key is taken.
        if let place = changes.changes.firstIndex(where: { $0.isCreation(of: created.id, in: table.entity) }),
            receipt.records.indices.contains(place), let record = receipt.records[place], record.id != created.id
        {
            return (RecordReference(record.id, record.fields, of: table), payload)
        }
        return (created, payload)
    }

    /// The body as an entity, or for a media entity as its stream.
    private func payload(_ collectionPath: EntityCollectionPath) throws -> (EntityPayload, WireDictionary) {
        guard !request.sendsJSON, let stream = collectionPath.table.streams["$value"] else {
            return (
                try EntityPayload(json(), of: collectionPath.table, declared: collectionPath.type, model: tables.model),
                [:]
            )
        }
        let type = request.headers["Content-Type"] ?? StreamHandler.standardType
        var payload = try EntityPayload(
            [:], of: collectionPath.table, declared: collectionPath.type, model: tables.model)
        try MediaDescription(type: type, slug: request.headers["Slug"], size: request.body.count)
            .describe(&payload, model: tables.model)
        return (payload, [stream.content.text: .data(request.body), stream.mediaType.text: .string(type)])
    }

    private func answer(
        _ created: RecordReference, of table: RecordTable, _ payload: EntityPayload
    ) async throws -> MountResponse {
        let entityPath = EntityPath(table: table, type: table.type, origin: .key(created.id))
        let address = request.root + table.source + table.keyPredicate(created.fields, model: tables.model)
        var headers: MountHeaders = ["Location": address]
        guard let record = try await handler.finder.record(entityPath) else {
            // The same change set has deleted it again.
            return handler.responses.nothing(201, headers: headers)
        }
        if request.preferences.returned == .minimal {
            headers["OData-EntityId"] = address
            headers["Preference-Applied"] = "return=minimal"
            headers["ETag"] = EntityTag.text(record.revision)
            return handler.responses.nothing(headers: headers)
        }
        if request.preferences.returned != nil { headers["Preference-Applied"] = "return=representation" }
        return try await EntityReading(handler).representation(
            entityPath, status: 201, headers: headers, expanding: NestedNames(payload, model: tables.model).option)
    }

    func change(_ entityPath: EntityPath, replacing: Bool) async throws -> MountResponse {
        let conditions = WriteConditions(request.headers)
        for attempt in 1...Self.attempts {
            guard let record = try await handler.finder.record(entityPath) else {
                let id = try missing(entityPath)
                try conditions.check(nil)
                return try await upsert(entityPath, id)
            }
            try conditions.check(record)
            do {
                return try await change(record, at: entityPath, replacing: replacing)
            } catch let error as PorticoError where error.code == .preconditionFailed && attempt < Self.attempts {
                // Another change came between. The caller's own condition is asked again.
                continue
            }
        }
        throw WriteConditions.failed
    }

    private func change(_ record: Record, at entityPath: EntityPath, replacing: Bool) async throws -> MountResponse {
        let declared = tables.model.structured(entityPath.table.type(of: record)) ?? entityPath.type
        let payload = try EntityPayload(json(), of: entityPath.table, declared: declared, model: tables.model)
        // OData 4.0 has no entities within a change (Protocol 4.0, section 11.4.3.1).
        if request.headers["OData-Version"] == "4.0", let name = payload.nested.keys.min() ?? payload.deltas.keys.min()
        {
            throw PorticoError(
                .requestInvalid, "Entities nested in a change are taken from OData 4.01 on.", target: name)
        }
        if request.preferences.returned == .representation {
            try await EntityReading(handler).checkRepresentation(of: entityPath.table)
        }
        var changes = ChangeSet()
        let update = EntityUpdate(
            tables: tables, records: request.records, links: handler.links, creation: creation)
        try await update.change(
            record, of: entityPath.table, by: payload, replacing: replacing, if: .revision(record.revision), &changes)
        try await apply(changes)
        return try await changed(
            EntityPath(table: entityPath.table, type: entityPath.table.type, origin: .key(record.id)))
    }

    /// After a change: nothing, unless the caller wants to see it.
    func changed(_ entityPath: EntityPath) async throws -> MountResponse {
        if request.preferences.returned == .representation {
            return try await EntityReading(handler).representation(
                entityPath, status: 200, headers: ["Preference-Applied": "return=representation"])
        }
        let record = try await handler.finder.record(entityPath)
        var headers: MountHeaders = [:]
        if let record { headers["ETag"] = EntityTag.text(record.revision) }
        if request.preferences.returned == .minimal { headers["Preference-Applied"] = "return=minimal" }
        return handler.responses.nothing(headers: headers)
    }

    /// The key to create what is not there under. Throws `record.notFound` where a change creates nothing: where the
    /// service makes the keys, and for media (Protocol 4.01, section 11.4.4). Conditions are not looked at then (RFC 9110,
    /// section 13.2.1).
    private func missing(_ entityPath: EntityPath) throws(PorticoError) -> RecordID {
        guard request.createsMissing, case .key(let id) = entityPath.origin, !entityPath.table.isSingleton,
            !entityPath.table.makesKeys(tables.model), entityPath.table.streams["$value"] == nil
        else {
            throw PorticoError(.recordNotFound, "There is no such entity.", target: entityPath.table.source)
        }
        return id
    }

    private func upsert(_ entityPath: EntityPath, _ id: RecordID) async throws -> MountResponse {
        try handler.capable(entityPath.table, .insert)
        let payload = try EntityPayload(json(), of: entityPath.table, declared: entityPath.type, model: tables.model)
        try await checkAnswer(of: entityPath.table, payload)
        var changes = ChangeSet()
        let created = try await creation.create(payload, in: entityPath.table, given: keyFields, id: id, &changes)
        try await apply(changes)
        return try await answer(created, of: entityPath.table, payload)
    }

    func delete(_ entityPath: EntityPath) async throws -> MountResponse {
        let record = try await handler.finder.found(entityPath)
        let conditions = WriteConditions(request.headers)
        try conditions.check(record)
        var changes = ChangeSet()
        let condition: RecordChange.Condition =
            request.headers["If-Match"] == nil ? .none : .revision(record.revision)
        changes.add(RecordChange(entityPath.table.entity, .delete(record.id), if: condition))
        try await apply(changes)
        return handler.responses.nothing()
    }

    @discardableResult
    func apply(_ changes: ChangeSet) async throws -> WriteReceipt {
        do {
            return try await request.records.apply(changes.changes)
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

extension RecordChange {
    fileprivate func isCreation(of id: RecordID, in entity: EntityName) -> Bool {
        guard entity == self.entity, case .create(id, _) = action else { return false }
        return true
    }
}

extension EntityWriting {
    /// A key of several parts is in the address only; a creation needs its values as fields.
    private var keyFields: [FieldName: WireValue] {
        guard case .path(let segments) = request.target.resource,
            case .arguments(let arguments)? = segments.last?.form, case .named(let parts) = arguments,
            let name = segments.first?.name,
            let table = tables[name.name]
        else { return [:] }
        let reader = ResourcePathReader(tables: tables, options: request.target.options)
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
