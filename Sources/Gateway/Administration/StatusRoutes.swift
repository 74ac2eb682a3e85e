import AdapterKit
import HTTPTypes
import RecordStorage
import ValueTree

/// What runs: `porticoctl status` and `porticoctl adapters`.
struct StatusRoutes: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices
    let version: String
    let readiness: Readiness
    let started: WireDate
    /// Whether a backup takes the store's place at the next start.
    let isRestorePending: @Sendable () -> Bool

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/status",
                AdministrationEndpoint(
                    "status", .reads, "What runs.", services: services
                ) { _, _ in status() }),
            Route(
                .get, "/admin/v1/adapters",
                AdministrationEndpoint(
                    "adapters.list", .reads, "The adapters.", services: services
                ) { _, _ in list() }),
            Route(
                .get, "/admin/v1/adapters/{name}",
                AdministrationEndpoint(
                    "adapters.show", .reads, "One adapter's declaration.", services: services
                ) { request, _ in
                    try await show(request["name"])
                }),
        ]
    }

    private func status() -> WireValue {
        let now = services.clock.now()
        return [
            "version": .string(version), "ready": .bool(readiness.isReady), "started": .date(started.wholeSeconds),
            "uptimeSeconds": .int64(Int64(now.secondsSinceReferenceDate - started.secondsSinceReferenceDate)),
            "adapters": .int64(Int64(adapters.count)),
            "failedAdapters": .array(readiness.failedAdapters.map { .string($0.text) }),
            "store": [
                "epoch": .string(services.store.epoch.text), "position": .int64(services.store.position.number),
                "problem": readiness.storeProblem.map { .string($0) } ?? .null,
                "restoresAtNextStart": .bool(isRestorePending()),
            ],
        ]
    }

    private func list() -> WireValue {
        ["adapters": .array(adapters.map(Self.summary))]
    }

    private static func summary(_ served: ServedAdapter) -> WireValue {
        [
            "name": .string(served.declaration.name.text), "title": .string(served.declaration.title),
            "version": .string(served.declaration.version), "access": served.access.configurationValue,
            "state": .string(served.status.current.phase.word),
            "entities": .array(served.declaration.entities.map { .string($0.name.text) }),
            "operations": .array(served.declaration.operations.map { .string($0.name.text) }),
        ]
    }

    private func show(_ name: String) async throws -> WireValue {
        guard let served = adapters.first(where: { $0.declaration.name.text == name }),
            case .dictionary(var members) = Self.summary(served)
        else { throw PorticoError(.recordNotFound, "There is no adapter of this name.") }
        members["summary"] = .string(served.declaration.summary)
        members["start"] = Self.start(served.status.current)
        var entities: [WireValue] = []
        for entity in served.declaration.entities { entities.append(try await description(entity, served)) }
        members["entities"] = .array(entities)
        members["operations"] = .array(served.declaration.operations.map(Self.description))
        return .dictionary(members)
    }

    private static func start(_ lifecycle: AdapterLifecycle) -> WireValue {
        var members: WireDictionary = ["attempts": .int64(Int64(lifecycle.attempts))]
        if case .failed(let reason) = lifecycle.phase { members["reason"] = .string(reason) }
        if let next = lifecycle.nextAttempt { members["nextAttempt"] = .date(next.wholeSeconds) }
        return .dictionary(members)
    }

    private func description(_ entity: Entity, _ served: ServedAdapter) async throws -> WireValue {
        [
            "name": .string(entity.name.text), "summary": .string(entity.summary),
            "key": .string(entity.key.field.text),
            "rows": ["read": entity.rows.read.value, "write": entity.rows.write.value],
            "exposed": .bool(entity.exposure == .resource),
            "fields": .array(entity.fields.map { .string($0.name.text) }),
            "records": .int64(Int64(try await served.ownRecords(in: services.store).count(nil, in: entity.name))),
        ]
    }

    private static func description(_ operation: Operation) -> WireValue {
        [
            "name": .string(operation.name.text), "summary": .string(operation.summary),
            "effect": operation.effect == .reads ? "reads" : "writes",
            "audience": operation.audience == .callers ? "callers" : "operators",
            "paths": .array(operation.bindings.map { .string("\($0.method.rawValue) \($0.path)") }),
        ]
    }
}

extension WireDate {
    var wholeSeconds: WireDate { WireDate(secondsSinceReferenceDate: secondsSinceReferenceDate.rounded(.down)) }
}
