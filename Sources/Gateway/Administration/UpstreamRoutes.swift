import AdapterKit
import HTTPTypes
import NearestNames
import ValueTree

/// The systems that this gateway calls, as operators see them.
public protocol UpstreamDirectory: Sendable {
    /// By name.
    var reports: [UpstreamReport] { get }

    /// One call of the upstream's address, as the system; nil where there is no such upstream.
    func test(_ name: UpstreamName) async -> UpstreamTest?
}

/// The present state of one upstream.
public struct UpstreamReport: Sendable {
    public var name: UpstreamName
    public var url: String
    /// The kind of its credentials, as it is configured.
    public var credentials: String
    /// Calls under way, and calls that wait for their turn.
    public var active: Int
    public var waiting: Int
    /// Servers whose circuit breaker is open.
    public var openCircuits: [String]
    /// Calls since the start, by the class of the status or the kind of the failure that they ended with.
    public var calls: [String: Int]
    public var retries: Int
    /// With its details, for operators; nil: none yet.
    public var lastFailure: String?
    /// Seconds since then.
    public var lastFailureAge: Double?
    /// After how many seconds the first of the open breakers lets a call through; nil: none is open.
    public var nextAttempt: Double?

    public init(
        name: UpstreamName, url: String, credentials: String, active: Int, waiting: Int, openCircuits: [String],
        calls: [String: Int], retries: Int, lastFailure: String?, lastFailureAge: Double? = nil,
        nextAttempt: Double? = nil
    ) {
        self.name = name
        self.url = url
        self.credentials = credentials
        self.active = active
        self.waiting = waiting
        self.openCircuits = openCircuits
        self.calls = calls
        self.retries = retries
        self.lastFailure = lastFailure
        self.lastFailureAge = lastFailureAge
        self.nextAttempt = nextAttempt
    }
}

/// The result of a call for trying.
public struct UpstreamTest: Sendable {
    public var milliseconds: Int
    /// The status; nil: there was no answer.
    public var status: Int?
    /// Why there was none.
    public var failure: String?

    public init(milliseconds: Int, status: Int?, failure: String?) {
        self.milliseconds = milliseconds
        self.status = status
        self.failure = failure
    }
}

/// For hosts that call no other system.
public struct NoUpstreams: UpstreamDirectory {
    public init() {}

    public var reports: [UpstreamReport] { [] }
    public func test(_ name: UpstreamName) async -> UpstreamTest? { nil }
}

/// `porticoctl upstreams`.
struct UpstreamRoutes: Sendable {
    let upstreams: any UpstreamDirectory
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/upstreams",
                AdministrationEndpoint(
                    "upstreams.list", .read, "The systems that this gateway calls.", services: services
                ) { _, _ in ["upstreams": .array(upstreams.reports.map(Self.summary))] }),
            Route(
                .get, "/admin/v1/upstreams/{name}",
                AdministrationEndpoint(
                    "upstreams.show", .read, "One upstream with what its calls came to.", services: services
                ) { request, _ in try show(request["name"]) }),
            Route(
                .post, "/admin/v1/upstreams/{name}/test",
                AdministrationEndpoint(
                    "upstreams.test", .change, "Calls an upstream's address once.", services: services,
                    result: { $0["answered"]?.boolValue == true ? .done : .failed }
                ) { request, _ in try await test(request["name"]) }),
        ]
    }

    private static func summary(_ report: UpstreamReport) -> WireValue {
        [
            "name": .string(report.name.text), "url": .string(report.url), "credentials": .string(report.credentials),
            "state": report.openCircuits.isEmpty ? "closed" : "open", "active": .int64(Int64(report.active)),
            "waiting": .int64(Int64(report.waiting)), "calls": .int64(Int64(report.calls.values.reduce(0, +))),
        ]
    }

    private func show(_ name: String) throws -> WireValue {
        guard let report = upstreams.reports.first(where: { $0.name.text == name }),
            case .dictionary(var members) = Self.summary(report)
        else { throw unknown(name) }
        members["openCircuits"] = .array(report.openCircuits.map { .string($0) })
        members["retries"] = .int64(Int64(report.retries))
        var results = WireDictionary()
        for (result, count) in report.calls.sorted(by: { $0.key < $1.key }) { results[result] = .int64(Int64(count)) }
        members["results"] = .dictionary(results)
        members["lastFailure"] = report.lastFailure.map { .string($0) } ?? .null
        members["lastFailureTime"] = report.lastFailureAge.map { time(after: -$0) } ?? .null
        members["nextAttempt"] = report.nextAttempt.map { time(after: $0) } ?? .null
        return .dictionary(members)
    }

    private func time(after seconds: Double) -> WireValue {
        let now = services.clock.now().secondsSinceReferenceDate
        return .date(WireDate(secondsSinceReferenceDate: now + seconds).wholeSeconds)
    }

    private func test(_ name: String) async throws -> WireValue {
        guard let known = UpstreamName(name), let test = await upstreams.test(known) else {
            throw unknown(name)
        }
        return [
            "upstream": .string(name), "answered": .bool(test.status != nil),
            "status": test.status.map { .int64(Int64($0)) } ?? .null,
            "milliseconds": .int64(Int64(test.milliseconds)), "failure": test.failure.map { .string($0) } ?? .null,
        ]
    }

    private func unknown(_ name: String) -> PorticoError {
        let near = NearestName.sentence(name, among: upstreams.reports.map(\.name.text))
        return PorticoError(.recordNotFound, "There is no upstream \(name).\(near)")
    }
}
