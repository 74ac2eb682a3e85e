import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles `$ref`: reads, adds and removes links between entities (Protocol 4.01, sections 11.2.8 and 11.4.6).
struct ReferenceHandler: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func collection(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        if request.method == "GET" { return try await CollectionReading(handler).references(collectionPath) }
        guard case .related(let source, let relation, let name) = collectionPath.origin else {
            throw ODataError.methodNotAllowed("The references of a set are read.", allowed: "GET, HEAD, OPTIONS")
        }
        let near = try await handler.finder.found(source)
        let known = RecordReference(near.id, near.fields, of: source.table)
        var changes = ChangeSet()
        switch request.method {
        case "POST":
            let far = try await handler.links.record(at: try address(), in: collectionPath.table, changes, target: name)
            handler.links.link(known, to: far, by: relation, &changes)
        case "DELETE":
            let id = request.target.options.lazy.compactMap(\.idText).first
            guard let id else {
                throw PorticoError(.requestInvalid, "$id must name the reference to remove.", target: "$id")
            }
            let far = try await handler.links.record(at: id, in: collectionPath.table, changes, target: name)
            handler.links.unlink(known, from: far, by: relation, &changes)
        default:
            throw ODataError.methodNotAllowed(
                "References are read, added and removed.", allowed: "GET, HEAD, POST, DELETE, OPTIONS")
        }
        try await EntityWriting(handler).apply(changes)
        return handler.responses.nothing()
    }

    func single(_ entityPath: EntityPath) async throws -> MountResponse {
        if request.method == "GET" { return try await read(entityPath) }
        var changes = ChangeSet()
        switch (entityPath.origin, request.method) {
        case (.related(let source, let relation, let name), "PUT"):
            let near = try await handler.finder.found(source)
            let far = try await handler.links.record(at: try address(), in: entityPath.table, changes, target: name)
            handler.links.set(
                RecordReference(near.id, near.fields, of: source.table), source.table, to: far, by: relation, &changes)
        case (.related(let source, let relation, _), "DELETE"):
            try clear(try await handler.finder.found(source), source.table, relation, &changes)
        case (.member(let entities, _), "DELETE"): try await part(entityPath, from: entities, &changes)
        default: throw Self.readOnly
        }
        try await EntityWriting(handler).apply(changes)
        return handler.responses.nothing()
    }

    /// `Products(1)/RelatedProducts(2)/$ref`
    private func part(_ entityPath: EntityPath, from entities: EntityCollectionPath, _ changes: inout ChangeSet)
        async throws
    {
        guard case .related(let source, let relation, _) = entities.origin else { throw Self.readOnly }
        let near = try await handler.finder.found(source)
        let far = try await handler.finder.found(entityPath)
        handler.links.unlink(
            RecordReference(near.id, near.fields, of: source.table),
            from: RecordReference(far.id, far.fields, of: entityPath.table),
            by: relation, &changes)
    }

    private static let readOnly = ODataError.methodNotAllowed(
        "This reference is read, set and removed.", allowed: "GET, HEAD, PUT, DELETE, OPTIONS")

    private func read(_ entityPath: EntityPath) async throws -> MountResponse {
        guard let record = try await handler.finder.record(entityPath) else {
            if case .related(let source, _, _) = entityPath.origin {
                _ = try await handler.finder.found(source)
                return handler.responses.nothing()
            }
            throw PorticoError(.recordNotFound, "There is no such entity.", target: entityPath.table.source)
        }
        var output = JSONOutput()
        output.beginObject()
        handler.writer.context("$ref", to: &output)
        output.member(
            "@odata.id",
            request.root + entityPath.table.source
                + entityPath.table.keyPredicate(record.fields, model: handler.tables.model))
        output.endObject()
        return handler.responses.json(output.bytes)
    }

    private func clear(
        _ near: Record, _ table: RecordTable, _ relation: RecordRelation, _ changes: inout ChangeSet
    ) throws {
        guard case .fields(_, let pairs, _) = relation else { return }
        for pair in pairs {
            guard table.columns.values.first(where: { $0.field == pair.near })?.type.isNullable == true else {
                throw PorticoError(.requestInvalid, "This entity cannot be without it.")
            }
        }
        let fields = WireDictionary(
            uncheckedUniqueKeys: pairs.map { WireDictionary.Entry(key: $0.near.text, value: .null) })
        changes.add(RecordChange(table.entity, .update(near.id, fields)))
    }

    /// The body's `@odata.id`.
    private func address() throws -> String {
        let body = try EntityWriting(handler).json()
        guard let address = (body["@odata.id"] ?? body["@id"])?.stringValue else {
            throw PorticoError(.requestInvalid, "A reference is an object with @odata.id.", target: "@odata.id")
        }
        return address
    }
}

extension QueryOption {
    fileprivate var idText: String? {
        if case .id(let text) = form { text } else { nil }
    }
}

extension EntityLinks {
    /// Sets a single-valued relation.
    func set(
        _ near: RecordReference, _ table: RecordTable, to far: RecordReference, by relation: RecordRelation,
        _ changes: inout ChangeSet
    ) {
        guard case .fields(_, let pairs, _) = relation else { return link(near, to: far, by: relation, &changes) }
        let fields = WireDictionary(
            uncheckedUniqueKeys: pairs.map { WireDictionary.Entry(key: $0.near.text, value: far[$0.far]) })
        changes.add(RecordChange(table.entity, .update(near.id, fields)))
    }

    func unlink(
        _ near: RecordReference, from far: RecordReference, by relation: RecordRelation, _ changes: inout ChangeSet
    ) {
        switch relation {
        case .fields(let target, let pairs, _):
            guard let table = tables[target] else { return }
            let fields = WireDictionary(
                uncheckedUniqueKeys: pairs.map { WireDictionary.Entry(key: $0.far.text, value: .null) })
            changes.add(RecordChange(table.entity, .update(far.id, fields)))
        case .links(_, let through, let own, _, _):
            let (first, second) = own == LinkTable.near ? (near, far) : (far, near)
            changes.add(
                RecordChange(through, .delete(RecordID(unchecked: LinkTable.pair(first.id, second.id)))))
        }
    }
}
