import AdapterKit
import HostConfiguration
import ServiceLifecycle
import Telemetry
import Upstream

/// Where spans go, and which: what is configured below `traces`.
struct TracePlan {
    /// Below the upstream's address (OTLP/HTTP, "OTLP/HTTP Request").
    private static let path = "v1/traces"

    let sampling: Sampling
    /// How many spans wait.
    let limit: Int
    private let upstream: UpstreamName
    private let interval: Duration

    /// Nil where `traces.upstream` is left out. Throws ``ConfigurationErrors``.
    init?(_ resolved: ResolvedConfiguration, _ upstreams: [UpstreamName: UpstreamPlan]) throws {
        func wrong(_ key: String, _ message: String) -> ConfigurationErrors {
            ConfigurationErrors([
                ConfigurationError(message, at: resolved.location(of: key) ?? .commandLine(key))
            ])
        }
        guard let text = resolved["traces.upstream"]?.text else { return nil }
        guard let upstream = UpstreamName(text), let plan = upstreams[upstream] else {
            throw wrong("traces.upstream", "There is no upstream \(text).\(upstreams.hint(for: text))")
        }
        guard !plan.actsForCallers else {
            throw wrong(
                "traces.upstream", "The upstream \(text) is called in its callers' names, and spans have no caller.")
        }
        let values = SettingValues(resolved)
        let ratio = values.number("traces.ratio")
        guard (0...1).contains(ratio) else { throw wrong("traces.ratio", "A share is a number from 0 to 1.") }
        self.upstream = upstream
        interval = max(values.duration("traces.interval"), .milliseconds(100))
        limit = values.integer("traces.queue")
        sampling = Sampling(ratio: ratio, followsCallers: values.flag("traces.followCallers"))
    }

    /// Through the upstream's client, with its credentials and limits, wherever its address is when spans are sent.
    func destination(in upstreams: [UpstreamName: any AdapterKit.Upstream]) throws -> OTLPExporter.Destination {
        guard let collector = upstreams[upstream] else {
            throw HostCommandError("traces.upstream: there is no upstream \(upstream).")
        }
        return OTLPExporter.Destination(interval: interval) { document in
            guard let address = collector.url.resolving(Self.path) else {
                throw UpstreamFailure(.broken, of: collector.name, detail: "its url has no \(Self.path)")
            }
            var request = UpstreamRequest(.post, address)
            request.fields["Content-Type"] = "application/json"
            request.body = document
            let response = try await collector.send(request)
            guard (200..<300).contains(response.status) else {
                throw UpstreamFailure(.broken, of: collector.name, detail: "status \(response.status)")
            }
        }
    }
}

/// The spans of this process, on their way from requests to a collector. Another configuration may have another way, or none.
struct HostTraces: Sendable {
    let queue: SpanQueue
    let exporter: OTLPExporter

    init(log: Log) {
        queue = SpanQueue(limit: 1)
        exporter = OTLPExporter(queue, version: PorticoRelease.version, log: log)
    }

    /// Of requests to gateways of this plan; nil: their spans are not recorded.
    func tracer(_ plan: TracePlan?) -> SpanTracer? { plan.map { SpanTracer($0.sampling, queue: queue) } }

    /// `destination`: that of the plan.
    func use(_ plan: TracePlan?, _ destination: OTLPExporter.Destination?) {
        if let plan { queue.use(limit: plan.limit) }
        exporter.use(destination)
    }
}

/// Exports spans while the gateway runs.
struct TraceService: Service {
    let exporter: OTLPExporter

    func run() async throws {
        await cancelWhenGracefulShutdown { await exporter.run() }
    }
}
