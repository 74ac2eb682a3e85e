import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles `PATCH` of a collection: applies a delta in one transaction (Protocol 4.01, section 11.4.12; JSON Format
/// 4.01, section 15).
struct CollectionDelta: Sendable {
    private let handler: ResourceHandler
    private let collectionPath: EntityCollectionPath
    private var request: ServiceRequest { handler.request }
    private var table: RecordTable { collectionPath.table }

    init(_ handler: ResourceHandler, _ collectionPath: EntityCollectionPath) {
        self.handler = handler
        self.collectionPath = collectionPath
    }

    /// What became of one item.
    private enum Done {
        case there(RecordID)
        case gone(RecordID)
    }

    func answer() async throws -> MountResponse {
        guard request.headers["OData-Version"] != "4.0", request.language != .v2 else {
            throw ODataError.methodNotAllowed(
                "Collections are changed from OData 4.01 on.", allowed: "GET, HEAD, POST, OPTIONS")
        }
        let items = try items()
        if case .related(let source, _, let name) = collectionPath.origin {
            try await apply(items, to: source, name)
            return handler.responses.nothing()
        }
        if request.preferences.returned == .representation {
            try await request.records.requireAccess(.reads, to: [table.entity])
        }
        var changes = ChangeSet()
        var done: [Done] = []
        for item in items {
            if let one = try await apply(item, &changes) { done.append(one) }
        }
        try await EntityWriting(handler).apply(changes)
        return try await answer(done)
    }

    private func items() throws -> [WireValue] {
        let body = try EntityWriting(handler).json()
        let context = (body["@odata.context"] ?? body["@context"])?.stringValue
        guard let items = body["value"]?.arrayValue, context?.hasSuffix("$delta") ?? true else {
            throw PorticoError(
                .requestInvalid, "The body is a delta: the context #$delta, and a list of what changes as value.",
                target: "value")
        }
        guard items.count <= handler.limits.insertEntities else {
            throw PorticoError(
                .requestLimitExceeded, "One delta changes at most \(handler.limits.insertEntities) entities.",
                target: "value")
        }
        return items
    }

    /// What a navigation property leads to: the change of the entity that it belongs to.
    private func apply(_ items: [WireValue], to source: EntityPath, _ name: String) async throws {
        try handler.capable(source.table, .update)
        let record = try await handler.finder.found(source)
        let declared = handler.tables.model.structured(source.table.type(of: record)) ?? source.type
        let payload = try EntityPayload(
            .dictionary(["\(name)@delta": .array(items)]), of: source.table, declared: declared,
            model: handler.tables.model)
        var changes = ChangeSet()
        try await update.change(record, of: source.table, by: payload, replacing: false, if: .none, &changes)
        try await EntityWriting(handler).apply(changes)
    }

    /// Nil where there is nothing left to do.
    private func apply(_ item: WireValue, _ changes: inout ChangeSet) async throws -> Done? {
        let item = try DeltaItem(item, of: collectionPath, links: handler.links, model: handler.tables.model)
        let record: Record? =
            if let id = item.id { try await request.records.record(id, in: table.entity) } else { nil }
        if let tag = item.tag, record.map({ EntityTag.text($0.revision) }) != tag { throw WriteConditions.failed }
        if item.isRemoved {
            try handler.capable(table, .delete)
            guard let record else { return nil }
            changes.add(RecordChange(table.entity, .delete(record.id), if: condition(item, record)))
            return .gone(record.id)
        }
        guard let record else {
            try handler.capable(table, .insert)
            let payload = try EntityPayload(
                item.json, of: table, declared: collectionPath.type, model: handler.tables.model)
            return .there(try await update.creation.create(payload, in: table, id: item.id, &changes).id)
        }
        try handler.capable(table, .update)
        let declared = handler.tables.model.structured(table.type(of: record)) ?? collectionPath.type
        let payload = try EntityPayload(item.json, of: table, declared: declared, model: handler.tables.model)
        try await update.change(
            record, of: table, by: payload, replacing: false, if: condition(item, record), &changes)
        return .there(record.id)
    }

    private func condition(_ item: DeltaItem, _ record: Record) -> RecordChange.Condition {
        item.tag == nil ? .none : .revision(record.revision)
    }

    private var update: EntityUpdate {
        let creation = EntityCreation(
            tables: handler.tables, records: request.records, links: handler.links,
            discriminators: handler.service.configuration.discriminators, limits: handler.limits)
        return EntityUpdate(tables: handler.tables, records: request.records, links: handler.links, creation: creation)
    }

    /// Nothing, unless the caller wants to see what became of it.
    private func answer(_ done: [Done]) async throws -> MountResponse {
        guard request.preferences.returned == .representation else { return handler.responses.nothing() }
        let ids = done.compactMap { if case .there(let id) = $0 { id } else { nil } }
        let query = EntityQuery(
            table.source, base: .records(ids), options: [], pageSize: max(ids.count, 1),
            now: handler.service.clock.now())
        let page = try await handler.runner.page(query)
        let form = StoredValueCodec(model: handler.tables.model)
        var rows: [RecordID: ResultRow] = [:]
        for row in page.rows {
            rows[table.recordID(fields: table.keyFields(of: row, page.shape), form: form) ?? ""] = row
        }
        let changes = done.compactMap { one -> ResultChange? in
            switch one {
            case .there(let id): rows[id].map { .whole($0) }
            case .gone(let id): .gone(id, .deleted)
            }
        }
        var output = JSONOutput()
        output.beginObject()
        handler.writer.context("\(table.source)/$delta", to: &output)
        output.key("value")
        output.beginArray()
        for change in changes { NestedDelta(handler.writer).write(change, page.shape, to: &output) }
        output.endArray()
        output.endObject()
        return handler.responses.json(output.bytes, headers: ["Preference-Applied": "return=representation"])
    }
}

/// One item of a delta in a request's body.
private struct DeltaItem {
    let json: WireValue
    /// The entity that it names, by its address or its key; nil where it names none.
    let id: RecordID?
    let tag: String?
    let isRemoved: Bool

    init(_ json: WireValue, of collectionPath: EntityCollectionPath, links: EntityLinks, model: EntityDataModel) throws
    {
        let kind = (json["@odata.context"] ?? json["@context"])?.stringValue ?? ""
        if kind.hasSuffix("/$link") || kind.hasSuffix("/$deletedLink") {
            throw ODataError.notImplemented("Links as items of a delta")
        }
        self.json = json
        tag = (json["@odata.etag"] ?? json["@etag"])?.stringValue
        // The spelling of OData 4.0, or that of 4.01.
        let removed = kind.hasSuffix("/$deletedEntity") ? json : json["@odata.removed"] ?? json["@removed"]
        isRemoved = removed != nil
        if removed?["reason"]?.stringValue == "changed" {
            throw PorticoError(.requestInvalid, "An entity leaves its set by being deleted.", target: "@removed")
        }
        let isOld = kind.hasSuffix("/$deletedEntity")
        let address = (json["@odata.id"] ?? json["@id"] ?? (isOld ? json["id"] : nil))?.stringValue
        id = try address.map { try Self.id(at: $0, collectionPath, links) } ?? Self.key(json, collectionPath, model)
        if isRemoved, id == nil {
            throw PorticoError(.requestInvalid, "What is removed is named, with @id or its key.", target: "@removed")
        }
    }

    private static func id(at address: String, _ collectionPath: EntityCollectionPath, _ links: EntityLinks) throws
        -> RecordID
    {
        guard let named = try? links.entityPath(at: address), named.table.entity == collectionPath.table.entity,
            case .key(let id) = named.origin
        else { throw PorticoError(.requestInvalid, "This is no address of an entity of the set.", target: "@id") }
        return id
    }

    private static func key(_ json: WireValue, _ collectionPath: EntityCollectionPath, _ model: EntityDataModel) throws
        -> RecordID?
    {
        let reader = ValueReader(model: model)
        var fields = WireDictionary()
        for name in collectionPath.table.keyNames {
            guard let column = collectionPath.table.columns[name], let value = json[name] else { return nil }
            fields[column.field.text] = try reader.value(value, column.type, at: name)
        }
        return collectionPath.table.recordID(fields: fields, form: StoredValueCodec(model: model))
    }
}
