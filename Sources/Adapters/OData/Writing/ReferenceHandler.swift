import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// `$ref`: which entities are joined (Protocol 4.01, sections 11.2.8 and 11.4.6).
struct ReferenceHandler: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func collection(_ place: EntityCollectionPath) async throws -> MountResponse {
        if request.method == "GET" { return try await CollectionReading(handler).references(place) }
        guard case .related(let source, let relation, let name) = place.origin else {
            throw ODataError.methodNotAllowed("The references of a set are read.", allowed: "GET, HEAD, OPTIONS")
        }
        let near = try await handler.finder.found(source)
        let known = KnownRecord(near.id, near.fields, of: source.table)
        var changes = ChangeSet()
        switch request.method {
        case "POST":
            let far = try await handler.links.record(at: try address(), in: place.table, changes, target: name)
            handler.links.link(known, to: far, by: relation, &changes)
        case "DELETE":
            let id = request.target.options.lazy.compactMap(\.idText).first
            guard let id else {
                throw PorticoError(.requestInvalid, "Which reference goes is told by $id.", target: "$id")
            }
            let far = try await handler.links.record(at: id, in: place.table, changes, target: name)
            handler.links.unlink(known, from: far, by: relation, &changes)
        default:
            throw ODataError.methodNotAllowed(
                "References are read, added and removed.", allowed: "GET, HEAD, POST, DELETE, OPTIONS")
        }
        try await EntityWriting(handler).apply(changes)
        return handler.answers.nothing()
    }

    func single(_ place: EntityPlace) async throws -> MountResponse {
        if request.method == "GET" { return try await read(place) }
        var changes = ChangeSet()
        switch (place.origin, request.method) {
        case (.related(let source, let relation, let name), "PUT"):
            let near = try await handler.finder.found(source)
            let far = try await handler.links.record(at: try address(), in: place.table, changes, target: name)
            handler.links.set(
                KnownRecord(near.id, near.fields, of: source.table), source.table, to: far, by: relation, &changes)
        case (.related(let source, let relation, _), "DELETE"):
            try clear(try await handler.finder.found(source), source.table, relation, &changes)
        case (.member(let entities, _), "DELETE"): try await part(place, from: entities, &changes)
        default: throw Self.readOnly
        }
        try await EntityWriting(handler).apply(changes)
        return handler.answers.nothing()
    }

    /// `Products(1)/RelatedProducts(2)/$ref`
    private func part(_ place: EntityPlace, from entities: EntityCollectionPath, _ changes: inout ChangeSet)
        async throws
    {
        guard case .related(let source, let relation, _) = entities.origin else { throw Self.readOnly }
        let near = try await handler.finder.found(source)
        let far = try await handler.finder.found(place)
        handler.links.unlink(
            KnownRecord(near.id, near.fields, of: source.table), from: KnownRecord(far.id, far.fields, of: place.table),
            by: relation, &changes)
    }

    private static let readOnly = ODataError.methodNotAllowed(
        "This reference is read, set and removed.", allowed: "GET, HEAD, PUT, DELETE, OPTIONS")

    private func read(_ place: EntityPlace) async throws -> MountResponse {
        guard let record = try await handler.finder.record(place) else {
            if case .related(let source, _, _) = place.origin {
                _ = try await handler.finder.found(source)
                return handler.answers.nothing()
            }
            throw PorticoError(.recordNotFound, "There is no such entity.", target: place.table.source)
        }
        var output = JSONOutput()
        output.beginObject()
        handler.writer.context("$ref", to: &output)
        output.member(
            "@odata.id",
            request.root + place.table.source + place.table.keyPredicate(record.fields, model: handler.tables.model))
        output.endObject()
        return handler.answers.json(output.bytes)
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
        _ near: KnownRecord, _ table: RecordTable, to far: KnownRecord, by relation: RecordRelation,
        _ changes: inout ChangeSet
    ) {
        guard case .fields(_, let pairs, _) = relation else { return link(near, to: far, by: relation, &changes) }
        let fields = WireDictionary(
            uncheckedUniqueKeys: pairs.map { WireDictionary.Entry(key: $0.near.text, value: far[$0.far]) })
        changes.add(RecordChange(table.entity, .update(near.id, fields)))
    }

    func unlink(
        _ near: KnownRecord, from far: KnownRecord, by relation: RecordRelation, _ changes: inout ChangeSet
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
