import Foundation
import ValueTree
import WireFormats

/// Tries the programs of a configuration in gateways of their own.
struct AdapterTrial {
    let configuration: String
    let fixtures: AdapterFixtures
    let roles: [String]
    /// Within which a program must serve again.
    let recovery: Duration

    /// Faults of upstreams, in percent, and which happen when.
    private static let upstreamFaults = [
        "seed=27", "delay=5", "truncate=10", "corrupt=10", "reset=10", "lie=10", "fail=10",
    ]
    private static let faultyRounds = 10

    func run(_ report: inout CheckReport) async throws {
        report.progress("a gateway starts")
        let upstreams = try await run(fixtures.settings) { gateway in
            let adapters = try await gateway.adapters()
            for adapter in adapters {
                var conformance = AdapterProbe(gateway: gateway, adapter: adapter, fixtures: fixtures)
                try await conformance.check(&report)
                report.progress("faults of \(adapter.name)")
                let faults = ProcessFaults(
                    gateway: gateway, adapter: adapter, reads: conformance.reads, recovery: recovery)
                try await faults.check(&report)
            }
            return try await gateway.names("upstreams")
        }
        guard !upstreams.isEmpty else { return }
        report.progress("a gateway starts whose upstreams fail")
        let faults = upstreams.flatMap { name in Self.upstreamFaults.map { "upstreams.\(name).chaos.\($0)" } }
        try await run(fixtures.settings + faults) { gateway in
            for adapter in try await gateway.adapters() {
                let probe = AdapterProbe(gateway: gateway, adapter: adapter, fixtures: fixtures)
                let name = "\(adapter.name): \(Self.faultyRounds) rounds while its upstreams fail"
                report.check(name, try await probe.problemWhileUpstreamsFail(Self.faultyRounds))
            }
        }
    }

    private func run<Result>(
        _ settings: [String], _ body: (TrialGateway) async throws -> Result
    ) async throws -> Result {
        try await TrialGateway.run(configuration, settings: settings, roles: roles) { gateway in
            let result = try await body(gateway)
            guard gateway.isRunning else { throw CommandError("The gateway has ended.") }
            return result
        }
    }
}

/// One adapter of a gateway, as the gateway describes it.
struct TriedAdapter {
    let name: String
    let entities: [String]
    let mirrors: [String]

    /// At the admin interface.
    func refreshPath(_ mirror: String) -> String {
        "/admin/v1/mirrors/\(name.asPathSegment)/\(mirror.asPathSegment)/refresh"
    }
}

extension TrialGateway {
    /// Those that come from the package, which are those with a process; where none has one, all.
    func adapters() async throws -> [TriedAdapter] {
        var found: [(adapter: TriedAdapter, hasProcess: Bool)] = []
        for name in try await names("adapters") {
            let shown = try await administration.get("/admin/v1/adapters/\(name.asPathSegment)")
            let entities = (shown["entities"]?.arrayValue ?? []).filter { $0["exposed"]?.boolValue == true }
            let names = entities.compactMap { $0["name"]?.stringValue }
            let mirrors = entities.filter { $0["mirrorOf"]?.stringValue != nil }.compactMap { $0["name"]?.stringValue }
            found.append((TriedAdapter(name: name, entities: names, mirrors: mirrors), shown["process"] != nil))
        }
        let processes = found.filter(\.hasProcess)
        guard !found.isEmpty else { throw CommandError("The configuration has no adapter.") }
        return (processes.isEmpty ? found : processes).map(\.adapter)
    }

    /// Of adapters, or of upstreams.
    func names(_ kind: String) async throws -> [String] {
        let listed = try await administration.get("/admin/v1/\(kind)")
        return (listed[kind]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
    }

    /// The adapter's process, and whether it serves; nil: it is none.
    func process(of adapter: String) async throws -> (id: Int32?, serves: Bool, reason: String)? {
        let shown = try await administration.get("/admin/v1/adapters/\(adapter.asPathSegment)")
        guard let process = shown["process"] else { return nil }
        let state = process["state"]?.stringValue ?? ""
        let reason = process["reason"]?.stringValue.map { ": \($0)" } ?? ""
        return (
            process["process"]?.int64Value.flatMap { Int32(exactly: $0) }, state == "running", "it is \(state)\(reason)"
        )
    }
}
