import AdapterKit
import HTTPTypes
import MirrorEngine
import NearestNames
import RecordStorage
import ValueTree

/// `porticoctl mirrors list`, `show`, `refresh` and `release`.
struct MirrorRoutes: Sendable {
    let adapters: [ServedAdapter]
    let upstreams: any UpstreamDirectory
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/mirrors",
                AdministrationEndpoint("mirrors.list", .read, "The mirrors.", services: services) { _, _ in
                    ["mirrors": .array(mirrors.map(summary) + callerMirrors.map { .dictionary(members($0)) })]
                }),
            Route(
                .get, "/admin/v1/mirrors/{adapter}/{entity}",
                AdministrationEndpoint("mirrors.show", .read, "One mirror.", services: services) { request, _ in
                    if let mirror = callerMirror(request) { return try await details(mirror) }
                    return try await details(mirror(request))
                }),
            Route(
                .post, "/admin/v1/mirrors/{adapter}/{entity}/refresh",
                AdministrationEndpoint(
                    "mirrors.refresh", .change, "Refreshes a mirror, and waits for its end.", input: Self.refresh,
                    services: services
                ) { request, body in
                    try await refresh(mirror(request), isWhole: body["full"]?.boolValue ?? false)
                }),
            Route(
                .post, "/admin/v1/mirrors/{adapter}/{entity}/release",
                AdministrationEndpoint(
                    "mirrors.release", .destroy, "Makes a refresh that is held back take effect.", services: services
                ) { request, _ in try await mirror(request).release().shown }),
        ]
    }

    private static let refresh = ObjectShape(
        "MirrorRefresh",
        members: [Member("full", .bool, summary: "Fetch every row, also where changes alone are asked for.")])

    private var mirrors: [ServedMirror] { adapters.flatMap(\.mirrors).sorted { $0.id.description < $1.id.description } }

    private var callerMirrors: [CallerMirror] {
        adapters.flatMap(\.callerMirrors).map(\.mirror).sorted { $0.id.description < $1.id.description }
    }

    private func callerMirror(_ request: AuthenticatedRequest) -> CallerMirror? {
        callerMirrors.first { $0.id.description == "\(request["adapter"])/\(request["entity"])" }
    }

    private func mirror(_ request: AuthenticatedRequest) throws(PorticoError) -> ServedMirror {
        let name = "\(request["adapter"])/\(request["entity"])"
        guard callerMirror(request) == nil else {
            throw PorticoError(.recordConflict, "The rows of this mirror are fetched in callers' names.")
        }
        guard let mirror = mirrors.first(where: { $0.id.description == name }) else {
            let names = mirrors.map(\.id.description)
            let near = NearestName.sentence(name, among: names)
            let known = names.isEmpty ? "" : " There are: \(names.prefix(20).joined(separator: ", "))."
            throw PorticoError(.recordNotFound, "There is no mirror \(name).\(near.isEmpty ? known : near)")
        }
        return mirror
    }

    private func summary(_ mirror: ServedMirror) -> WireValue { .dictionary(members(mirror)) }

    private func members(_ mirror: ServedMirror) -> WireDictionary {
        let status = mirror.status
        let now = services.clock.now()
        let asOf = status.machine.asOf
        let age = asOf.map { now.secondsSinceReferenceDate - $0.secondsSinceReferenceDate }
        return [
            "name": .string(mirror.id.description), "upstream": .string(mirror.source.upstream.text),
            "state": .string(state(of: mirror, age: age)), "asOf": asOf.map { .date($0.wholeSeconds) } ?? .null,
            "ageSeconds": age.map { .int64(Int64(max(0, min($0, Double(Int32.max))))) } ?? .null,
            "failures": .int64(Int64(status.machine.failures)),
        ]
    }

    /// `stale`: nothing of its own is wrong, but it is older than it may be, and the system is not asked at the moment.
    private func state(of mirror: ServedMirror, age: Double?) -> String {
        let word = mirror.status.word
        guard word == "good", let age, age > mirror.source.settings.freshFor / .seconds(1),
            upstreams.reports.contains(where: { $0.name == mirror.source.upstream && !$0.openCircuits.isEmpty })
        else { return word }
        return "stale"
    }

    /// One whose rows belong to callers, each with an age of their own.
    private func members(_ mirror: CallerMirror) -> WireDictionary {
        [
            "name": .string(mirror.id.description), "upstream": .string(mirror.source.upstream.text),
            "state": "callers", "asOf": .null, "ageSeconds": .null, "failures": .int64(0),
            "callers": .int64(Int64(mirror.callers)),
        ]
    }

    private func details(_ mirror: CallerMirror) async throws -> WireValue {
        var members = members(mirror)
        members["records"] = .int64(Int64(try await services.store.count(nil, in: mirror.id)))
        return .dictionary(members)
    }

    private func details(_ mirror: ServedMirror) async throws -> WireValue {
        let machine = mirror.status.machine
        var members = members(mirror)
        let count = try await services.store.count(nil, in: mirror.id)
        members["records"] = .int64(Int64(count))
        members["running"] =
            machine.running.map {
                ["trigger": .string($0.trigger.rawValue), "since": .date($0.since.wholeSeconds)]
            } ?? .null
        members["lastRefresh"] = machine.last?.shown ?? .null
        members["failure"] =
            machine.failure.map {
                [
                    "code": .string($0.code.rawValue), "detail": .string($0.detail),
                    "time": .date($0.time.wholeSeconds),
                ]
            } ?? .null
        members["held"] =
            machine.held.map {
                [
                    "detail": .string($0.detail), "time": .date($0.time.wholeSeconds),
                    "releasable": .bool($0.isReleasable),
                ]
            } ?? .null
        members["drifts"] = .array(mirror.status.stored.drifts.sorted().map { .string($0.description) })
        members["misfits"] = mirror.status.stored.misfits.stored
        return .dictionary(members)
    }

    private func refresh(_ mirror: ServedMirror, isWhole: Bool) async throws -> WireValue {
        switch try await mirror.refreshNow(by: .operator, isWhole: isWhole) {
        case .done(let summary): return summary.shown
        case .held(let held):
            throw PorticoError(
                .recordConflict,
                "The refresh was held back: \(held.detail)."
                    + (held.isReleasable ? " Releasing it makes it take effect." : ""))
        case .failed(let code, let detail):
            // The words of the other system are for who asks, and not for the log.
            throw PorticoError(
                code, "The mirror could not be refreshed: \(detail)",
                logDetail: "the mirror \(mirror.id) could not be refreshed")
        }
    }
}

extension RefreshSummary {
    fileprivate var shown: WireValue {
        [
            "asOf": .date(asOf.wholeSeconds), "created": .int64(Int64(created)), "updated": .int64(Int64(updated)),
            "deleted": .int64(Int64(deleted)), "refused": .int64(Int64(refused)),
            "misfits": .int64(Int64(misfits)), "repeated": .int64(Int64(repeated)),
        ]
    }
}
