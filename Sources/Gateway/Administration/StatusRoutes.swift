import AdapterKit
import HTTPTypes
import MirrorEngine
import NearestNames
import RecordStorage
import ValueTree

/// The running parts: `porticoctl status` and `porticoctl adapters`.
struct StatusRoutes: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices
    let version: String
    /// The adapters that are compiled in, with the versions of their packages.
    let modules: [AdapterName: String]
    let readiness: Readiness
    let started: WireDate
    let upstreams: any UpstreamDirectory
    /// Whether a backup takes the store's place at the next start.
    let isRestorePending: @Sendable () -> Bool
    /// Nil: none are configured.
    let backups: (any BackupControl)?

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/status",
                AdministrationEndpoint(
                    "status", .read, "What runs.", services: services
                ) { _, _ in try await status() }),
            Route(
                .get, "/admin/v1/adapters",
                AdministrationEndpoint(
                    "adapters.list", .read, "The adapters.", services: services
                ) { _, _ in list() }),
            Route(
                .get, "/admin/v1/adapters/{name}",
                AdministrationEndpoint(
                    "adapters.show", .read, "One adapter's declaration.", services: services
                ) { request, _ in
                    try await show(request["name"])
                }),
            Route(
                .get, "/admin/v1/adapters/{name}/crashes",
                AdministrationEndpoint(
                    "adapters.crashes", .read, "The last crashes of an adapter's process, the latest first.",
                    services: services
                ) { request, _ in
                    ["crashes": .array(try adapter(request["name"]).process?.crashReports ?? [])]
                }),
            switching("enable", "Lets an adapter answer again.", isDisabled: false),
            switching(
                "disable", "Refuses an adapter's calls, until it is enabled or the gateway starts anew.",
                isDisabled: true),
        ]
    }

    private func switching(_ action: String, _ summary: String, isDisabled: Bool) -> Route {
        Route(
            .post, PathTemplate(stringLiteral: "/admin/v1/adapters/{name}/\(action)"),
            AdministrationEndpoint("adapters.\(action)", .change, summary, services: services) { request, _ in
                let served = try adapter(request["name"])
                served.slot.isDisabled = isDisabled
                return .dictionary(Self.summary(served))
            })
    }

    private func adapter(_ name: String) throws(PorticoError) -> ServedAdapter {
        guard let served = adapters.first(where: { $0.declaration.name.text == name }) else {
            let near = NearestName.sentence(name, among: adapters.map(\.declaration.name.text))
            throw PorticoError(.recordNotFound, "There is no adapter \(name).\(near)")
        }
        return served
    }

    private func status() async throws -> WireValue {
        let now = services.clock.now()
        let writes = adapters.flatMap(\.writes).map(\.counts)
        let (refused, oldest) = try await backlog()
        return [
            "version": .string(version),
            "modules": .dictionary(
                modules.sorted { $0.key < $1.key }.reduce(into: [:]) { $0[$1.key.text] = .string($1.value) }),
            "ready": .bool(readiness.isReady), "started": .date(started.wholeSeconds),
            "uptimeSeconds": .int64(Int64(now.secondsSinceReferenceDate - started.secondsSinceReferenceDate)),
            "adapters": .int64(Int64(adapters.count)),
            "failedAdapters": .array(readiness.failedAdapters.map { .string($0.text) }),
            "disabledAdapters": .array(readiness.disabledAdapters.map { .string($0.text) }),
            "unhealthyMirrors": .array(
                unhealthyMirrors.map { .string($0.id.description) }),
            "mirrorProblems": .array(
                unhealthyMirrors.map { mirror in
                    let machine = mirror.status.machine
                    return [
                        "name": .string(mirror.id.description), "state": .string(mirror.status.word),
                        "detail": .string(machine.held?.detail ?? machine.failure?.detail ?? ""),
                    ]
                }),
            "pendingWrites": .int64(Int64(writes.reduce(0) { $0 + $1.pending })),
            "unknownWrites": .int64(Int64(writes.reduce(0) { $0 + $1.unknown })),
            "refusedWrites": .int64(Int64(refused)),
            "oldestPendingWrite": oldest.map { .date($0.wholeSeconds) } ?? .null,
            "upstreams": .int64(Int64(upstreams.reports.count)),
            "openUpstreams": .array(
                upstreams.reports.filter { !$0.openCircuits.isEmpty }.map { .string($0.name.text) }),
            "store": [
                "epoch": .string(services.store.epoch.text), "position": .int64(services.store.position.number),
                "problem": readiness.storeProblem.map { .string($0) } ?? .null,
                "restoresAtNextStart": .bool(isRestorePending()),
            ],
            "backups": backups?.status() ?? .null,
        ]
    }

    private var unhealthyMirrors: [ServedMirror] {
        adapters.flatMap(\.mirrors).filter { ["held", "failing"].contains($0.status.word) }
    }

    /// The backlog of the writes of every mirror.
    private func backlog() async throws -> (refused: Int, oldest: WireDate?) {
        let mirrors = adapters.flatMap(\.writes).map(\.id)
        guard !mirrors.isEmpty else { return (0, nil) }
        let backlogs = try await services.store.withReadSnapshot { snapshot in
            try mirrors.map { try snapshot.backlogOfWrites(of: $0) }
        }
        return (backlogs.reduce(0) { $0 + $1.refused }, backlogs.compactMap(\.oldest).min())
    }

    private func list() -> WireValue {
        ["adapters": .array(adapters.map { .dictionary(Self.summary($0)) })]
    }

    private static func summary(_ served: ServedAdapter) -> WireDictionary {
        [
            "name": .string(served.declaration.name.text), "title": .string(served.declaration.title),
            "version": .string(served.declaration.version), "access": served.declaration.statedAccess,
            "state": .string(served.stateWord),
            "entities": .array(served.declaration.entities.map { .string($0.name.text) }),
            "operations": .array(served.declaration.operations.map { .string($0.name.text) }),
        ]
    }

    private func show(_ name: String) async throws -> WireValue {
        let served = try adapter(name)
        var members = Self.summary(served)
        members["summary"] = .string(served.declaration.summary)
        members["start"] = Self.start(served.status.current)
        if let report = served.process?.processReport { members["process"] = Self.process(report) }
        var entities: [WireValue] = []
        for entity in served.declaration.entities { entities.append(try await description(entity, served)) }
        members["entities"] = .array(entities)
        members["operations"] = .array(served.declaration.operations.map { Self.description($0, served.declaration) })
        members["mounts"] = .array(
            served.declaration.mounts.map { mount in
                [
                    "name": .string(mount.name.text), "summary": .string(mount.summary),
                    "path": .string("\(mount.path)"), "methods": .array(mount.methods.sorted().map { .string($0) }),
                    "access": mount.authorization == .byOperation
                        ? "byOperation"
                        : [
                            "read": served.declaration.callers(of: mount, .reads).configurationValue,
                            "write": served.declaration.callers(of: mount, .writes).configurationValue,
                        ],
                ]
            })
        if let warning = served.writeWarning { members["warnings"] = [.string(warning)] }
        members["liveFeeds"] = .array(
            served.declaration.liveFeeds.map { feed in
                [
                    "name": .string(feed.name.text), "summary": .string(feed.summary), "path": .string("\(feed.path)"),
                ]
            })
        return .dictionary(members)
    }

    private static func start(_ lifecycle: AdapterLifecycle) -> WireValue {
        var members: WireDictionary = ["attempts": .int64(Int64(lifecycle.attempts))]
        if case .failed(let reason) = lifecycle.phase { members["reason"] = .string(reason) }
        if let next = lifecycle.nextAttempt { members["nextAttempt"] = .date(next.wholeSeconds) }
        return .dictionary(members)
    }

    private static func process(_ report: AdapterProcessReport) -> WireValue {
        [
            "state": .string(report.state), "reason": report.reason.map { .string($0) } ?? .null,
            "process": report.process.map { .int64(Int64($0)) } ?? .null,
            "launched": report.launched.map { .date($0.wholeSeconds) } ?? .null,
            "restarts": .int64(Int64(report.restarts)), "crashes": .int64(Int64(report.crashes)),
            "callsUnderWay": .int64(Int64(report.callsUnderWay)), "callsWaiting": .int64(Int64(report.callsWaiting)),
            "protocol": report.protocolVersion.map { .int64(Int64($0)) } ?? .null,
        ]
    }

    private func description(_ entity: Entity, _ served: ServedAdapter) async throws -> WireValue {
        [
            "name": .string(entity.name.text), "summary": .string(entity.summary),
            "key": .string(entity.key.field.text),
            "access": AccessRights(
                read: served.declaration.readers(of: entity), write: served.declaration.writers(of: entity)
            ).configurationValue,
            "rows": ["read": entity.rows.read.value, "write": served.declaration.writeRule(of: entity).value],
            "exposed": .bool(entity.exposure == .resource),
            "mirrorOf": served.declaration.mirror(of: entity.name).map { .string($0.upstream.text) } ?? .null,
            "fields": .array(entity.fields.map { .string($0.name.text) }),
            "records": .int64(Int64(try await served.ownRecords(in: services.store).count(nil, in: entity.name))),
        ]
    }

    private static func description(_ operation: Operation, _ declaration: AdapterDeclaration) -> WireValue {
        let paths = declaration.endpoints.compactMap { endpoint -> WireValue? in
            guard case .operation(let other, _) = endpoint.kind, other.name == operation.name else { return nil }
            return .string("\(endpoint.method.rawValue) \(endpoint.path)")
        }
        return [
            "name": .string(operation.name.text), "summary": .string(operation.summary),
            "effect": operation.effect == .reads ? "reads" : "writes",
            "audience": operation.audience == .callers ? "callers" : "operators",
            "access": operation.audience == .operators
                ? "operators"
                : operation.authorization == .byOperation
                    ? "byOperation" : declaration.callers(of: operation).configurationValue,
            "paths": .array(paths),
        ]
    }
}

extension [Access] {
    /// All of them hold.
    fileprivate var configurationValue: WireValue {
        let distinct = Set(self).filter { $0 != .public }
        guard distinct.count < 2 else { return .array(distinct.map(\.configurationValue)) }
        return distinct.first?.configurationValue ?? "public"
    }
}

extension ServedAdapter {
    /// Names what every caller with a login may write, and no row rule narrows.
    fileprivate var writeWarning: String? {
        let open = declaration.openWrites
        guard !open.isEmpty else { return nil }
        let version = process?.processReport.protocolVersion == 1
        return version
            ? "The program speaks version 1 of the adapter protocol, which does not say who may write: \(open.sentence)."
            : "\(open.sentence.prefix(1).uppercased())\(open.sentence.dropFirst()), and no row rule says whose rows they are."
    }
}

extension AdapterDeclaration {
    /// The adapter's access, whether it was given or not.
    fileprivate var statedAccess: WireValue {
        AccessRights(read: access.reading, write: access.write, refresh: access.refresh).configurationValue
    }

    /// The rule of who may write an entity's records. No caller may where they mirror another system that gets no changes.
    func writeRule(of entity: Entity) -> RowRule {
        guard let mirror = mirror(of: entity.name), mirror.writing == .none else { return entity.rows.write }
        return .nobody
    }
}

extension WireDate {
    var wholeSeconds: WireDate { cut(toFractionDigits: 0) }
}

/// The content of the store and its size, for operators.
public struct StoreSummary: Sendable {
    public var contents: BackupSummary
    /// Bytes of the file that are free to be used again.
    public var freeBytes: Int64
    /// Bytes of the write-ahead log.
    public var logFileBytes: Int64

    public init(contents: BackupSummary, freeBytes: Int64, logFileBytes: Int64) {
        self.contents = contents
        self.freeBytes = freeBytes
        self.logFileBytes = logFileBytes
    }
}

/// Reads what the store holds; all of it where it is to be checked, which throws `store.unavailable` for a damaged one.
public typealias StoreInspector = @Sendable (_ checksIntegrity: Bool) async throws -> StoreSummary

/// `porticoctl backup`, `porticoctl store` and `porticoctl sync compact`.
struct StoreRoutes: Sendable {
    let maintenance: StoreMaintenance
    let inspect: StoreInspector
    let services: GatewayServices

    private static let backup = ObjectShape(
        "Backup", members: [Member("directory", .string(maximumLength: 4_096), isRequired: true)])
    private static let compaction = ObjectShape("Compaction", members: [Member("dryRun", .bool)])

    func routes() -> [Route] {
        [
            Route(
                .post, "/admin/v1/backup",
                AdministrationEndpoint(
                    "backup", .grant, "Copies the store into a new directory.", input: Self.backup, services: services
                ) { try await backUp(to: $1.text("directory")) }),
            Route(
                .post, "/admin/v1/sync/compaction",
                AdministrationEndpoint(
                    "sync.compact", .destroy, "Removes what of the log and of losing copies is older than its window.",
                    input: Self.compaction, services: services
                ) { try await compact(dryRun: $1["dryRun"]?.boolValue ?? false) }),
            Route(
                .post, "/admin/v1/sync/sweep",
                AdministrationEndpoint(
                    "sync.sweep", .destroy, "Removes attachments that no record has named for the window.",
                    services: services
                ) { _, _ in try await sweepAttachments() }),
            Route(
                .get, "/admin/v1/store",
                AdministrationEndpoint("store.stats", .read, "What the store holds.", services: services) { _, _ in
                    try await inspect(checksIntegrity: false)
                }),
            Route(
                .get, "/admin/v1/store/check",
                AdministrationEndpoint(
                    "store.check", .read, "Reads the whole store and says whether it is sound.", services: services
                ) { _, _ in try await inspect(checksIntegrity: true) }),
        ]
    }

    private func inspect(checksIntegrity: Bool) async throws -> WireValue {
        let found = try await inspect(checksIntegrity)
        let rows = found.contents.rows.sorted { $0.key < $1.key }.map {
            WireDictionary.Entry(key: $0.key, value: .int64($0.value))
        }
        return [
            "sound": checksIntegrity ? true : .null, "epoch": .string(found.contents.epoch.text),
            "position": .int64(found.contents.position.number), "floor": .int64(found.contents.floor.number),
            "bytes": .int64(found.contents.size), "freeBytes": .int64(found.freeBytes),
            "logFileBytes": .int64(found.logFileBytes),
            "rows": .dictionary(WireDictionary(uncheckedUniqueKeys: rows)),
        ]
    }

    private func backUp(to directory: String) async throws -> WireValue {
        guard directory.hasPrefix("/") else {
            throw PorticoError(.requestInvalid, "The directory's whole path is needed.", target: "directory")
        }
        let (summary, attachments) = try await maintenance.backUp(to: directory)
        let rows = summary.rows.sorted { $0.key < $1.key }.map {
            WireDictionary.Entry(key: $0.key, value: .int64($0.value))
        }
        return [
            "directory": .string(directory), "epoch": .string(summary.epoch.text),
            "position": .int64(summary.position.number), "floor": .int64(summary.floor.number),
            "bytes": .int64(summary.size), "rows": .dictionary(WireDictionary(uncheckedUniqueKeys: rows)),
            "attachments": [
                "count": .int64(Int64(attachments.count)), "bytes": .int64(attachments.bytes),
                "damaged": .array(attachments.damaged.map { .string($0.text) }),
            ],
        ]
    }

    private func compact(dryRun: Bool) async throws -> WireValue {
        let result = try await maintenance.compact(dryRun: dryRun)
        return [
            "dryRun": .bool(dryRun), "floor": .int64(result.floor.number), "entries": .int64(Int64(result.entries)),
            "outcomes": .int64(Int64(result.outcomes)),
            "keptCopies": .int64(Int64(try await maintenance.forgetKeptCopies(dryRun: dryRun))),
        ]
    }

    private func sweepAttachments() async throws -> WireValue {
        let removal = try await maintenance.sweepAttachments()
        return [
            "attachments": .int64(Int64(removal.attachments)), "uploads": .int64(Int64(removal.uploads)),
            "bytes": .int64(removal.bytes),
        ]
    }
}
