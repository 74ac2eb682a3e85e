import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import SyncEngine
import SyncMessages
import ValueTree

/// The routes behind `porticoctl sync`: the log, devices, conflicts, and who has what.
struct SyncAdminRoutes: Sendable {
    let sync: SyncServices
    let identity: Identity
    let services: GatewayServices

    private static let largestList = 1_000

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/sync/status",
                endpoint("sync.status", "How far the log is, and who syncs.") { _, _ in try await status() }),
            Route(
                .get, "/admin/v1/sync/devices",
                endpoint("sync.devices", "The devices, when each was seen, and how far it is.", Self.page) {
                    request, _ in
                    try await devices(request.request.target)
                }),
            Route(
                .get, "/admin/v1/sync/devices/{id}",
                endpoint("sync.device", "What became of the latest changes of one device.") { request, _ in
                    try await device(request["id"])
                }),
            Route(
                .get, "/admin/v1/sync/conflicts",
                endpoint(
                    "sync.conflicts", "Devices' changes that did not become the record, the latest first.",
                    ["limit", "before"]
                ) { request, _ in try await conflicts(request.request.target) }),
            Route(
                .get, "/admin/v1/sync/changes",
                endpoint("sync.changes", "The log, oldest first.", Self.page.union(["synced"])) { request, _ in
                    try await changes(request.request.target)
                }),
            Route(
                .get, "/admin/v1/sync/explanations/{user}/{record*}",
                endpoint("sync.explain", "Why a device does or does not have a record.") { request, _ in
                    try await explain(request["record"], for: request["user"])
                }),
        ]
    }

    /// Parameters of a list's address.
    private static let page: Set<String> = ["limit", "after"]

    private func endpoint(
        _ name: String, _ summary: String, _ query: Set<String> = [],
        perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) -> AdministrationEndpoint {
        AdministrationEndpoint(name, .read, summary, query: query, services: services, perform: perform)
    }

    private func status() async throws -> WireValue {
        let (position, floor) = try await services.store.withReadSnapshot { ($0.position, $0.floor) }
        let clients = try await sync.seen.count(in: services.store)
        return [
            "epoch": .string(services.store.epoch.text), "position": .int64(position.number),
            "floor": .int64(floor.number), "liveStreams": .int64(Int64(sync.live.count)),
            "clients": .int64(Int64(clients)),
            "collections": .array(sync.catalogue.collections.map { .string($0.name) }),
        ]
    }

    /// In the order of their ids; `?after=` goes on behind one. Those that have pushed are known for good, with what was
    /// seen of them since the gateway started; those that have only pulled are known since then.
    private func devices(_ target: RequestTarget) async throws -> WireValue {
        let limit = try limit(target)
        let after = try target["after"].map { text in
            guard let id = ClientID(text) else {
                throw PorticoError(.requestInvalid, "This is no id of a device.", target: "after")
            }
            return id
        }
        let (seen, catalogue) = (sync.seen.all, sync.catalogue)
        let (devices, log) = try await services.store.withReadSnapshot { snapshot in
            let devices = ListedDevice.page(
                try snapshot.clients(after: after, limit: limit), seen: seen, after: after, limit: limit)
            return (devices, try SyncedLog(snapshot, of: catalogue, behind: devices.compactMap(\.sight?.position)))
        }
        let names = try await names(of: devices.map(\.key.account))
        return ["devices": .array(devices.map { .dictionary($0.value(account: names[$0.key.account], log: log)) })]
    }

    private func names(of accounts: [String]) async throws -> [String: String] {
        var names: [String: String] = [:]
        for owner in Set(accounts) {
            guard let id = AccountID(owner) else { continue }
            names[owner] = try await identity.administration.account(id)?.name.text
        }
        return names
    }

    private func limit(_ target: RequestTarget) throws -> Int {
        try target.number("limit", in: 1...Self.largestList) ?? 100
    }

    /// Changes of a device whose outcomes are shown.
    private static let shownOutcomes: Int64 = 50
    /// Members of an outcome that are shown. The record that it may hold belongs to callers.
    private static let shownOfOutcome = ["sequence", "outcome", "reason", "message"]

    /// As the list shows it, and the outcomes that are kept of its latest changes, the latest first.
    private func device(_ text: String) async throws -> WireValue {
        guard let id = ClientID(text) else { throw Self.noDevice }
        let (all, catalogue) = (sync.seen.all.filter { $0.key.client == id }, sync.catalogue)
        let (client, outcomes, log) = try await services.store.withReadSnapshot { snapshot in
            let client = try snapshot.client(id)
            let last = client?.lastSequence ?? 0
            let copies = try snapshot.keptCopies(.all, before: nil, limit: Self.largestList)
                .filter { $0.copy.client == id }
            let outcomes = try stride(from: last, to: max(last - Self.shownOutcomes, 0), by: -1).compactMap {
                try snapshot.outcome(of: $0, from: id).map { (try Self.value($0, copies, snapshot)) }
            }
            return (
                client, outcomes,
                try SyncedLog(snapshot, of: catalogue, behind: all.compactMap(\.value.position))
            )
        }
        // More than one account may have named it: that which has pushed by it has it, else that seen last.
        let account = client?.identity
        let seen = all.filter { (account ?? $0.key.account) == $0.key.account }
        let latest = seen.max { $0.value.time < $1.value.time }
        guard let key = client.map({ DeviceTable.Key(account: $0.identity, client: id) }) ?? latest?.key else {
            throw Self.noDevice
        }
        let device = ListedDevice(key: key, pushed: client, sight: latest?.value)
        var shown = device.value(account: try await names(of: [key.account])[key.account], log: log)
        shown["outcomes"] = .array(outcomes)
        return .dictionary(shown)
    }

    /// With the record's name, which is in the log at the revision that the change made, or with the copy of one that lost.
    private static func value(
        _ outcome: PushOutcome, _ copies: [KeptCopy], _ snapshot: any StoreSnapshot
    ) throws -> WireValue {
        var shown: WireDictionary = ["position": .int64(outcome.position.number)]
        let answered = outcome.answer
        for name in shownOfOutcome { shown[name] = answered[name] }
        if let copy = copies.first(where: { $0.copy.sequence == outcome.sequence })?.copy {
            (shown["collection"], shown["id"]) = (.string(copy.collection.description), .string(copy.id.text))
        } else if let revision = answered["rev"]?.int64Value, revision > snapshot.floor.number,
            let entry = try snapshot.changes(after: Revision(revision - 1), limit: 1).first,
            entry.position.number == revision
        {
            (shown["collection"], shown["id"]) = (.string(entry.collection.description), .string(entry.id.text))
        }
        return .dictionary(shown)
    }

    private static let noDevice = PorticoError(
        .recordNotFound, "No device of this id has pushed, or pulled since the gateway started.")

    /// Without the fields: they are of callers' rows.
    private func conflicts(_ target: RequestTarget) async throws -> WireValue {
        let limit = try limit(target)
        let before = try target.number("before", in: 0...Int64.max)
        let copies = try await services.store.withReadSnapshot { snapshot in
            try snapshot.keptCopies(.all, before: before, limit: limit).map { kept in
                (kept, try snapshot.outcome(of: kept.copy.sequence, from: kept.copy.client)?.answer)
            }
        }
        return [
            "conflicts": .array(
                copies.map { kept, answer in
                    [
                        "reason": answer?["reason"] ?? .null, "message": answer?["message"] ?? .null,
                        "number": .int64(kept.number), "time": .date(kept.time.wholeSeconds),
                        "cause": .string(kept.copy.reason.rawValue), "author": .string(kept.copy.author),
                        "device": .string(kept.copy.client.text), "sequence": .int64(kept.copy.sequence),
                        "collection": .string(kept.copy.collection.description), "id": .string(kept.copy.id.text),
                    ]
                })
        ]
    }

    private func changes(_ target: RequestTarget) async throws -> WireValue {
        let limit = try limit(target)
        let asked = try target.number("after", in: 0...Int64.max)
        let catalogue = try target.flag("synced") ? sync.catalogue : nil
        let entries = try await services.store.withReadSnapshot { snapshot in
            if let catalogue { return try SyncedLog.latest(limit, of: catalogue, snapshot) }
            // Without a position the last ones, which operators look for most.
            let after = asked ?? max(snapshot.floor.number, snapshot.position.number - Int64(limit))
            return try snapshot.changes(after: Revision(after), limit: limit)
        }
        return ["changes": .array(entries.map(\.shown))]
    }

    private func explain(_ record: String, for user: String) async throws -> WireValue {
        guard let name = AccountName(user),
            let account = try await identity.administration.account(named: name)
        else { throw await identity.administration.noAccount(named: user) }
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

/// A device as operators see it.
struct ListedDevice {
    let key: DeviceTable.Key
    let pushed: PushClient?
    let sight: DeviceSight?

    /// The devices behind `after`, in the order of their ids: the page of those that have `pushed`, among them what else was seen.
    static func page(
        _ pushed: [PushClient], seen: [DeviceTable.Key: DeviceSight], after: ClientID?, limit: Int
    ) -> [ListedDevice] {
        // Beyond a full page there may be more that have pushed.
        let last = pushed.count < limit ? nil : pushed.last?.id
        var sights = seen.filter { key, _ in
            (after.map { $0.text < key.client.text } ?? true) && (last.map { key.client.text <= $0.text } ?? true)
        }
        let known = pushed.map { client in
            let key = DeviceTable.Key(account: client.identity, client: client.id)
            return ListedDevice(key: key, pushed: client, sight: sights.removeValue(forKey: key))
        }
        let listed = known + sights.map { ListedDevice(key: $0.key, pushed: nil, sight: $0.value) }
        let sorted = listed.sorted {
            ($0.key.client.text, $0.key.account) < ($1.key.client.text, $1.key.account)
        }
        return Array(sorted.prefix(limit))
    }

    /// `account`: its name; nil: there is no such account any more. `lag` and `isLagLeast`: see ``SyncedLog``.
    fileprivate func value(account: String?, log: SyncedLog) -> WireDictionary {
        let outcomes = (sight?.outcomes ?? [:]).map { ($0.key.rawValue, WireValue.int64(Int64($0.value))) }
        return [
            "id": .string(key.client.text), "account": .string(account ?? key.account),
            "lastSeen": (sight?.time ?? pushed?.time).map { .date($0.wholeSeconds) } ?? .null,
            "streams": .int64(Int64(sight?.streams.count ?? 0)),
            "position": (sight?.position).map { .int64($0.number) } ?? .null,
            "lag": (sight?.position).map { .int64(Int64(log.count(after: $0))) } ?? .null,
            "isLagLeast": .bool((sight?.position).map { log.begins(after: $0) } ?? false),
            "lastPush": (pushed?.time).map { .date($0.wholeSeconds) } ?? .null,
            "lastSequence": (pushed?.lastSequence).map { .int64($0) } ?? .null,
            "outcomes": .dictionary(WireDictionary(present: outcomes.sorted { $0.0 < $1.0 })),
        ]
    }
}

/// The positions of the latest changes of what devices can sync; the gateway's own entries, such as those of the audit log, are
/// left out.
private struct SyncedLog: Sendable {
    /// Entries of the log that are looked through at most.
    private static let most: Int64 = 20_000

    /// In ascending order.
    private let positions: [Revision]
    /// The position behind which entries are looked through.
    private let start: Revision?

    /// Reads those behind the oldest of `devices`' positions.
    init(_ snapshot: any StoreSnapshot, of catalogue: SyncCatalogue, behind devices: [Revision]) throws {
        var found: [Revision] = []
        start = devices.min().map { oldest in
            Revision(max(oldest.number, snapshot.floor.number, snapshot.position.number - Self.most))
        }
        if var next = start {
            while case let page = try snapshot.changes(after: next, limit: 1_000), let last = page.last {
                found += page.filter { catalogue[$0.collection] != nil }.map(\.position)
                next = last.position
            }
        }
        positions = found
    }

    /// The latest entries, the oldest of them first.
    static func latest(
        _ limit: Int, of catalogue: SyncCatalogue, _ snapshot: any StoreSnapshot
    ) throws -> [LogEntry] {
        let (page, end) = (Int64(1_000), snapshot.position.number)
        let floor = max(snapshot.floor.number, end - most)
        var (found, next): ([LogEntry], Int64) = ([], end)
        while next > floor, found.count < limit {
            let start = max(floor, next - page)
            let entries = try snapshot.changes(after: Revision(start), limit: Int(next - start))
            found = entries.filter { $0.position.number <= next && catalogue[$0.collection] != nil } + found
            next = start
        }
        return found.suffix(limit)
    }

    /// Whether a position lies before what is looked through, so that ``count(after:)`` is the least that there may be: the
    /// log is compacted up to where it begins, or longer than ``most``.
    func begins(after position: Revision) -> Bool { start.map { position < $0 } ?? false }

    /// Changes behind a position, of records that the device may not have, too.
    func count(after position: Revision) -> Int {
        positions.count - (positions.firstIndex { $0 > position } ?? positions.count)
    }
}

extension PushOutcome {
    /// As the device was answered.
    fileprivate var answer: WireDictionary { content["outcome"]?.dictionaryValue ?? content }
}

extension LogEntry {
    var shown: WireValue {
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
