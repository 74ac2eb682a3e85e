import AdapterKit
import HTTPTypes
import Identity
import MirrorEngine
import NearestNames
import RecordStorage
import ValueTree

/// `porticoctl records`: the rows of every adapter's entities.
///
/// Rows that belong to callers are an admin's alone, who gives a reason; each look at them is in the audit log, and no operator
/// changes them here. A change of a mirror waits to be made in the other system, as a caller's does, in the operator's name.
struct RecordRoutes: Sendable {
    private static let longestReason = 200
    private static let mostHistory = 1_000

    private static let reason = Member(
        "reason", .string(maximumLength: longestReason), summary: "Why; needed where rows belong to callers.")
    private static let list = ObjectShape(
        "RecordList",
        members: [
            Member("filter", .string), Member("search", .string), Member("order", .string), Member("cursor", .string),
            Member("limit", .integer(IntegerRange(1...1_000))), Member("count", .bool), reason,
        ])
    private static let id = Member("id", .string, isRequired: true)
    private static let one = ObjectShape("RecordLook", members: [id, reason])
    private static let change = ObjectShape(
        "RecordChange",
        members: [
            id, Member("fields", .any, isRequired: true, summary: "Those that change; null takes a value away."),
            Member("revision", .integer, summary: "Changed only if it is this one still."),
        ])
    private static let preview = ObjectShape(
        "MirrorPreview",
        members: [Member("limit", .integer(IntegerRange(1...100)), summary: "Rows of each kind."), reason])
    private static let removal = ObjectShape("RecordRemoval", members: [id, Member("revision", .integer)])

    let adapters: [ServedAdapter]
    let identity: Identity
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/records",
                AdministrationEndpoint("records.entities", .read, "The entities of every adapter.", services: services)
                { _, _ in ["entities": .array(adapters.flatMap(Self.entities))] }),
            route("list", .read, "A page of records.", Self.list) { try await list($0, $1, by: $2) },
            route("show", .read, "One record.", Self.one) { try await show($0, $1, by: $2) },
            route("history", .read, "What of the log is one record's, the latest first.", Self.one) {
                try await history($0, $1, by: $2)
            },
            route("set", .change, "Changes fields of a record.", Self.change) { try await set($0, $1, by: $2) },
            route("delete", .destroy, "Deletes a record.", Self.removal) { try await delete($0, $1, by: $2) },
            Route(
                .post, "/admin/v1/mirrors/{adapter}/{entity}/preview",
                AdministrationEndpoint(
                    "mirrors.preview", .read, "Rows that a refresh which is held back would change.",
                    input: Self.preview, services: services
                ) { request, input in try await preview(place(request), input, by: request) }),
        ]
    }

    /// An entity, with the adapter that serves it.
    private struct Place {
        let served: ServedAdapter
        let entity: Entity
        var collection: CollectionID { CollectionID(served.declaration.name, entity.name) }
    }

    private func route(
        _ verb: String, _ action: AdministrationAction, _ summary: String, _ input: ObjectShape,
        _ perform: @escaping @Sendable (Place, WireDictionary, AuthenticatedRequest) async throws -> WireValue?
    ) -> Route {
        Route(
            .post, PathTemplate(stringLiteral: "/admin/v1/records/{adapter}/{entity}/\(verb)"),
            AdministrationEndpoint("records.\(verb)", action, summary, input: input, services: services) {
                request, input in try await perform(place(request), input, request)
            })
    }

    private func place(_ request: AuthenticatedRequest) throws(PorticoError) -> Place {
        guard let served = adapters.first(where: { $0.declaration.name.text == request["adapter"] }),
            let entity = served.declaration.entities.first(where: { $0.name.text == request["entity"] })
        else {
            let name = "\(request["adapter"])/\(request["entity"])"
            let known = adapters.flatMap { served in
                served.declaration.entities.map { "\(served.declaration.name)/\($0.name)" }
            }
            throw PorticoError(
                .recordNotFound, "There is no entity of this name.\(NearestName.sentence(name, among: known))")
        }
        return Place(served: served, entity: entity)
    }
}

extension RecordRoutes {
    private static func entities(of served: ServedAdapter) -> [WireValue] {
        served.declaration.entities.map { entity in
            let obstacle = obstacle(to: entity, of: served)
            return [
                "name": .string("\(served.declaration.name)/\(entity.name)"), "summary": .string(entity.summary),
                "adapter": .string(served.declaration.title), "key": .string(entity.key.field.text),
                "mirrorOf": served.declaration.mirror(of: entity.name).map { .string($0.upstream.text) } ?? .null,
                "needsReason": .bool(areOfCallers(entity)), "searchable": .bool(!entity.searchFields.isEmpty),
                "obstacle": obstacle.map { .string($0) } ?? .null,
                "access": AccessRights(
                    read: served.declaration.readers(of: entity), write: served.declaration.writers(of: entity)
                ).configurationValue,
                "rows": ["read": entity.rows.read.value, "write": served.declaration.writeRule(of: entity).value],
                "parents": .array(
                    entity.references.sorted { $0.field.text < $1.field.text }.map {
                        [
                            "field": .string($0.field.text),
                            "entity": .string("\(served.declaration.name)/\($0.entity)"),
                        ]
                    }),
                "fields": .array(entity.fields.map(field)),
            ]
        }
    }

    private static func field(_ field: Field) -> WireValue {
        var choices: [String] = []
        let type: String =
            switch field.shape {
            case .any: "any"
            case .bool: "bool"
            case .integer: "integer"
            case .double: "double"
            case .decimal: "decimal"
            case .string: "string"
            case .choice: "choice"
            case .date: "date"
            case .data: "data"
            case .list: "list"
            case .object: "object"
            }
        if case .choice(let known) = field.shape { choices = known }
        return [
            "name": .string(field.name.text), "type": .string(type), "summary": .string(field.summary),
            "required": .bool(field.isRequired), "choices": .array(choices.map { .string($0) }),
            "editable": .bool(field.source == .caller),
        ]
    }

    /// Whether a look at the rows needs a reason. What an adapter keeps for itself has no rules, and is mostly of its callers.
    private static func areOfCallers(_ entity: Entity) -> Bool {
        entity.hasPrivateRows || entity.exposure != .resource
    }

    /// Why no operator changes the entity's rows here; nil: they may.
    private static func obstacle(to entity: Entity, of served: ServedAdapter) -> String? {
        if areOfCallers(entity) || entity.rows.write.bindsRowsToCallers { return "Its rows belong to callers." }
        if served.declaration.writeRule(of: entity) == .nobody {
            return served.declaration.mirror(of: entity.name) == nil
                ? "Its adapter alone writes it." : "It mirrors another system, which gets no changes."
        }
        return nil
    }

    /// Throws where the look needs more than the operator has, and records the others that need a reason.
    private func admit(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest, record: String = ""
    ) async throws {
        guard Self.areOfCallers(place.entity) else { return }
        try request.caller.requireRole(.admin)
        let reason = input.text("reason")
        guard reason.contains(where: { !$0.isWhitespace }) else {
            throw PorticoError(
                .requestInvalid, "The rows of \(place.collection) belong to callers: a reason is needed.",
                target: "reason")
        }
        let subject = record.isEmpty ? "\(place.collection)" : "\(place.collection)/\(record)"
        try await identity.record(
            AuditEvent(
                .recordsRead, actor: request.caller.principal.id, subject: subject, address: request.request.peer,
                detail: reason))
    }

    private func list(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest
    ) async throws -> WireValue {
        try await admit(place, input, by: request)
        let list = try ListQuery(Self.target(input), entity: place.entity, limits: services.limits)
        let page = try await services.store.query(
            list.query, in: place.collection, atMost: services.limits.pageBytes)
        var value: WireDictionary = ["items": .array(page.records.map(Self.value))]
        value["next"] =
            try page.next.map { WireValue.string(try CursorText.encode($0, for: list.query)) } ?? WireValue.null
        value["total"] = page.total.map { WireValue.int64(Int64($0)) } ?? WireValue.null
        return .dictionary(value)
    }

    /// As callers' lists have it in their address.
    private static func target(_ input: WireDictionary) throws(PorticoError) -> RequestTarget {
        var items: [String] = []
        for name in ["filter", "search", "order", "cursor"] {
            guard let text = input[name]?.stringValue, !text.isEmpty else { continue }
            items.append("\(name)=\(PercentEncoding.encode(text))")
        }
        if let limit = input["limit"]?.int64Value { items.append("limit=\(limit)") }
        if input["count"]?.boolValue == true { items.append("count=true") }
        guard let target = RequestTarget("/?" + items.joined(separator: "&")) else {
            throw PorticoError(.requestInvalid, "The list cannot be read.")
        }
        return target
    }

    private static func value(_ record: Record) -> WireValue {
        [
            "id": .string(record.id.text), "revision": .int64(record.revision.number),
            "fields": .dictionary(record.fields),
        ]
    }

    private func show(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest
    ) async throws -> WireValue {
        let id = try Self.id(input)
        try await admit(place, input, by: request, record: id.text)
        guard let found = try await services.store.record(id, in: place.collection, visible: nil) else {
            throw Self.missing
        }
        return Self.value(found)
    }

    private func history(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest
    ) async throws -> WireValue {
        let (id, collection) = (try Self.id(input), place.collection)
        try await admit(place, input, by: request, record: id.text)
        let entries = try await services.store.withReadSnapshot {
            try $0.history(of: id, in: collection, limit: Self.mostHistory)
        }
        return ["changes": .array(entries.map(\.shown))]
    }

    private func set(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest
    ) async throws -> WireValue {
        guard let fields = input["fields"]?.dictionaryValue, !fields.isEmpty else {
            throw PorticoError(.requestInvalid, "At least one field changes.", target: "fields")
        }
        let id = try Self.id(input)
        try place.entity.checkKnown(fields.keys)
        // At a command line every value is text.
        let coerced = Coercion.textual.coerce(fields, to: place.entity.patchShape)
        let record = try await records(place, by: request).update(
            id, coerced, in: place.entity.name, if: Self.condition(input))
        return Self.value(record)
    }

    private func delete(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest
    ) async throws -> WireValue? {
        try await records(place, by: request).delete(
            Self.id(input), in: place.entity.name, if: Self.condition(input))
        return nil
    }

    private func preview(
        _ place: Place, _ input: WireDictionary, by request: AuthenticatedRequest
    ) async throws -> WireValue {
        try await admit(place, input, by: request)
        guard let mirror = place.served.mirrors.first(where: { $0.id == place.collection }) else {
            throw PorticoError(.recordNotFound, "There is no mirror \(place.collection).")
        }
        let sample = try await mirror.preview(Int(input["limit"]?.int64Value ?? 20))
        let difference = try await mirror.previewDifference()
        return [
            "counts": [
                "created": .int64(Int64(difference.created)), "updated": .int64(Int64(difference.updated)),
                "deleted": .int64(Int64(difference.deleted)),
            ],
            "created": .array(sample.created.map(Self.value)), "deleted": .array(sample.deleted.map(Self.value)),
            "updated": .array(
                sample.updated.map { change in
                    ["before": Self.value(change.before), "after": Self.value(change.after)]
                }),
        ]
    }

    /// The operator writes what no row rule gives to callers: within the adapter's own rules, and to the other system.
    private func records(_ place: Place, by request: AuthenticatedRequest) throws(PorticoError) -> AdapterRecords {
        if let obstacle = Self.obstacle(to: place.entity, of: place.served) {
            throw PorticoError(.accessDenied, obstacle)
        }
        let everyone = AccessRights(read: .public, write: .public)
        let declaration = place.served.declaration.granting(
            everyone,
            entities: Dictionary(
                place.served.declaration.entities.map { ($0.name, everyone) }, uniquingKeysWith: { $1 }))
        let actor = request.caller.principal
        var roles: Set<RoleName> = []
        NamedRoles.collect(place.entity.rows, &roles)
        let principal = Principal(kind: actor.kind, id: actor.id, name: actor.name, roles: roles)
        return AdapterRecords(
            store: services.store, declaration: declaration, principal: principal,
            through: place.served.writes.isEmpty ? nil : AdapterWriteThrough(writes: place.served.writes))
    }

    private static func id(_ input: WireDictionary) throws(PorticoError) -> RecordID {
        guard let id = RecordID(input.text("id")) else { throw missing }
        return id
    }

    private static func condition(_ input: WireDictionary) -> RecordChange.Condition {
        input["revision"]?.int64Value.map { RecordChange.Condition.revision(Revision($0)) }
            ?? RecordChange.Condition.none
    }

    private static let missing = PorticoError(.recordNotFound, "There is no such record.")
}
