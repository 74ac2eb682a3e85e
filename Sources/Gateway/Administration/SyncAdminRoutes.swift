import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import SyncEngine
import ValueTree

/// `porticoctl sync status`, `changes` and `explain`.
struct SyncAdminRoutes: Sendable {
    let sync: SyncServices
    let identity: Identity
    let services: GatewayServices

    /// Clients that the status counts at most.
    private static let countedClients = 10_000
    private static let largestList = 1_000

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/sync/status",
                endpoint("sync.status", "How far the log is, and who syncs.") { _, _ in try await status() }),
            Route(
                .get, "/admin/v1/sync/devices",
                endpoint("sync.devices", "The devices that have pushed, and how far each is.", Self.page) {
                    request, _ in
                    try await devices(request.request.target)
                }),
            Route(
                .get, "/admin/v1/sync/changes",
                endpoint("sync.changes", "The log, oldest first.", Self.page) { request, _ in
                    try await changes(request.request.target)
                }),
            Route(
                .get, "/admin/v1/sync/explanations/{user}/{record*}",
                endpoint("sync.explain", "Why a device does or does not have a record.") { request, _ in
                    try await explain(request["record"], for: request["user"])
                }),
        ]
    }

    /// Of the address of a list.
    private static let page: Set<String> = ["limit", "after"]

    private func endpoint(
        _ name: String, _ summary: String, _ query: Set<String> = [],
        perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) -> AdministrationEndpoint {
        AdministrationEndpoint(name, .read, summary, query: query, services: services, perform: perform)
    }

    private func status() async throws -> WireValue {
        let (position, floor, clients) = try await services.store.withReadSnapshot {
            ($0.position, $0.floor, try $0.clients(after: nil, limit: Self.countedClients).count)
        }
        return [
            "epoch": .string(services.store.epoch.text), "position": .int64(position.number),
            "floor": .int64(floor.number), "liveStreams": .int64(Int64(sync.live.count)),
            "clients": .int64(Int64(clients)),
            "collections": .array(sync.catalogue.collections.map { .string($0.name) }),
        ]
    }

    /// In the order of their ids; `?after=` goes on behind one.
    private func devices(_ target: RequestTarget) async throws -> WireValue {
        let limit = min(max(Int(target["limit"] ?? "") ?? 100, 1), Self.largestList)
        var after: ClientID?
        if let text = target["after"] {
            guard let id = ClientID(text) else {
                throw PorticoError(.requestInvalid, "This is no id of a device.", target: "after")
            }
            after = id
        }
        let start = after
        let clients = try await services.store.withReadSnapshot { try $0.clients(after: start, limit: limit) }
        var names: [String: String] = [:]
        for owner in Set(clients.map(\.identity)) {
            guard let id = AccountID(owner) else { continue }
            names[owner] = try await identity.administration.account(id)?.name.text
        }
        return [
            "devices": .array(
                clients.map { client in
                    [
                        "id": .string(client.id.text), "account": .string(names[client.identity] ?? client.identity),
                        "lastPush": .date(client.time.wholeSeconds), "lastSequence": .int64(client.lastSequence),
                    ]
                })
        ]
    }

    private func changes(_ target: RequestTarget) async throws -> WireValue {
        let limit = min(max(Int(target["limit"] ?? "") ?? 100, 1), Self.largestList)
        let asked = target["after"].flatMap { Int64($0) }
        let entries = try await services.store.withReadSnapshot { snapshot in
            // Without a position the last ones, which operators look for most.
            let after = asked ?? max(snapshot.floor.number, snapshot.position.number - Int64(limit))
            return try snapshot.changes(after: Revision(after), limit: limit)
        }
        return ["changes": .array(entries.map(\.shown))]
    }

    private func explain(_ record: String, for user: String) async throws -> WireValue {
        guard let name = AccountName(user),
            let account = try await identity.administration.account(named: name)
        else { throw PorticoError(.recordNotFound, "There is no account of this name.") }
        let parts = record.split(separator: "/", omittingEmptySubsequences: false)
        let isQualified = parts.count > 2 && sync.catalogue["\(parts[0])/\(parts[1])"] != nil
        let collection = parts.prefix(isQualified ? 2 : 1).joined(separator: "/")
        let id = parts.dropFirst(isQualified ? 2 : 1).joined(separator: "/")
        let caller = SyncCaller(account.principal())
        let catalogue = sync.catalogue
        return try await services.store.withReadSnapshot {
            try catalogue.explain(id, in: collection, for: caller, at: $0)
        }.shown
    }
}

extension LogEntry {
    fileprivate var shown: WireValue {
        [
            "position": .int64(position.number), "collection": .string(collection.description),
            "id": .string(id.text), "kind": .string(kind.rawValue), "time": .date(time.wholeSeconds),
            "changed": changedFields.map { .array($0.map { .string($0.text) }) } ?? .null,
        ]
    }
}

extension SyncExplanation {
    fileprivate var shown: WireValue {
        [
            "collection": .string(collection), "id": .string(id), "verdict": .string(verdict.rawValue),
            "revision": revision.map { .int64($0.number) } ?? .null, "writers": .string(writers.text),
            "mayWrite": .bool(mayWrite),
            "rules": .array(
                clauses.map { clause in
                    let margin = String(repeating: "  ", count: clause.depth)
                    return .string("\(margin)\(clause.text) \(clause.holds ? "(holds)" : "(does not hold)")")
                }), "history": .array(history.map(\.shown)),
            "keptCopies": .array(
                keptCopies.map { kept in
                    [
                        "number": .int64(kept.number), "time": .date(kept.time.wholeSeconds),
                        "reason": .string(kept.copy.reason.rawValue), "author": .string(kept.copy.author),
                        "content": .dictionary(kept.copy.content),
                    ]
                }),
        ]
    }
}

extension RowRule {
    /// As an operator reads it: a word, or a rule's name with what it compares.
    var value: WireValue {
        switch self {
        case .everyone: "everyone"
        case .nobody: "nobody"
        case .signedIn: "signedIn"
        case .owner(let field): ["owner": .string(field.text)]
        case .sharedWith(let field): ["sharedWith": .string(field.text)]
        case .attributeEquals(let field, let attribute):
            ["attributeEquals": ["field": .string(field.text), "attribute": .string(attribute)]]
        case .hasRole(let role): ["hasRole": .string(role.text)]
        case .fieldIsOneOf(let field, let values):
            ["fieldIsOneOf": ["field": .string(field.text), "values": .array(values)]]
        case .memberOf(let entity, let field, let members):
            [
                "memberOf": [
                    "entity": .string(entity.text), "through": .string(field.text), "members": .string(members.text),
                ]
            ]
        case .not(let rule): ["not": rule.value]
        case .any(let rules): ["any": .array(rules.map(\.value))]
        case .all(let rules): ["all": .array(rules.map(\.value))]
        }
    }
}
